# Checks of parsed JSON against the published JSON Schema; only the keywords of draft 2020-12 that it uses are supported.

MODEL_SCHEMA <- NULL # read when the package is loaded

.onLoad <- function(libname, pkgname) {
  path <- file.path(libname, pkgname, "model-2.schema.json")
  schema <- jsonlite::fromJSON(read_utf8(path), simplifyVector = FALSE)
  schema$`$defs` <- list2env(lapply(schema$`$defs`, prepared), parent = emptyenv())
  assign("MODEL_SCHEMA", prepared(schema), envir = parent.env(environment()))
}

# Lists of words as vectors, which are faster to compare.
prepared <- function(schema) {
  if (!is.list(schema)) return(schema)
  for (key in intersect(names(schema), c("required", "type", "enum"))) schema[[key]] <- unlist(schema[[key]])
  for (key in intersect(names(schema), c("if", "then", "else", "items", "additionalProperties"))) {
    schema[[key]] <- prepared(schema[[key]])
  }
  for (key in intersect(names(schema), c("properties", "oneOf"))) schema[[key]] <- lapply(schema[[key]], prepared)
  schema
}

is_object <- function(x) is.list(x) && !is.null(names(x))
is_array <- function(x) is.list(x) && is.null(names(x))
# Whole numbers outside the exact range of doubles are kept as text.
is_digits <- function(x) is.character(x) && nchar(x) > 15L && grepl("^-?[0-9]+$", x)

type_of <- function(x) {
  if (is.null(x)) "null"
  else if (is.list(x)) if (is_object(x)) "object" else "array"
  else if (is.logical(x)) "boolean"
  else if (is.integer(x)) c("integer", "number")
  else if (is.double(x)) if (x == floor(x)) c("integer", "number") else "number"
  else if (is_digits(x)) c("string", "integer", "number")
  else "string"
}

# The first violation of the schema by a value, NULL if there is none.
fault <- function(x, schema, where = "the file") {
  while (!is.null(schema$`$ref`)) schema <- MODEL_SCHEMA$`$defs`[[sub("^#/[$]defs/", "", schema$`$ref`)]]
  if (!is.null(schema$type) && !any(type_of(x) %in% schema$type)) {
    return(sprintf("expected %s to be of type %s, found %s", where, paste(schema$type, collapse = " or "), type_of(x)[1]))
  }
  if (!is.null(schema$const) && !identical(as.character(x), as.character(schema$const))) {
    return(sprintf("%s must be %s", where, schema$const))
  }
  if (!is.null(schema$enum) && !(is.character(x) == is.character(schema$enum) && as.character(x) %in% as.character(schema$enum))) {
    return(sprintf("%s must be one of %s", where, paste(schema$enum, collapse = ", ")))
  }
  found <- if (is.list(x)) NULL else scalar_fault(x, schema, where)
  if (is.null(found) && is_array(x)) found <- array_fault(x, schema, where)
  if (is.null(found) && is_object(x)) found <- object_fault(x, schema, where)
  if (is.null(found) && !is.null(schema$oneOf)) {
    fits <- vapply(schema$oneOf, function(form) is.null(fault(x, form, where)), NA)
    if (!any(fits)) found <- sprintf("%s has none of its allowed forms", where)
  }
  if (is.null(found) && !is.null(schema$`if`)) {
    branch <- if (is.null(fault(x, schema$`if`, where))) schema$then else schema$`else`
    if (!is.null(branch)) found <- fault(x, branch, where)
  }
  found
}

scalar_fault <- function(x, schema, where) {
  if (is.character(x) && !is_digits(x)) {
    size <- nchar(x, "chars")
    if (!is.null(schema$minLength) && size < schema$minLength) return(sprintf("%s must not be empty", where))
    if (!is.null(schema$maxLength) && size > schema$maxLength) {
      return(sprintf("%s must have at most %d characters, found %d", where, schema$maxLength, size))
    }
    if (!is.null(schema$pattern) && !grepl(schema$pattern, x, perl = TRUE)) {
      return(sprintf("the text of %s does not have the required form", where))
    }
  } else if (is.numeric(x) || is_digits(x)) {
    number <- as.numeric(x)
    low <- number_of(schema$minimum)
    above <- number_of(schema$exclusiveMinimum)
    high <- number_of(schema$maximum)
    below <- number_of(schema$exclusiveMaximum)
    if (number < max(low, -Inf) || number > min(high, Inf) || number <= max(above, -Inf) || number >= min(below, Inf)) {
      return(sprintf("%s must be a number within its bounds, found %s", where, format(number)))
    }
  }
  NULL
}

number_of <- function(x) if (is.null(x)) NULL else as.numeric(x)

array_fault <- function(x, schema, where) {
  if (length(x) < max(schema$minItems, 0L) || length(x) > min(schema$maxItems, Inf)) {
    return(sprintf("%s has %d entries, which is not allowed", where, length(x)))
  }
  if (!is.null(schema$items)) {
    inside <- paste("an entry of", where)
    if (identical(names(schema$items), "$ref") && length(x)) inside <- paste("an entry of", sub("^an entry of ", "", where))
    for (entry in x) {
      found <- fault(entry, schema$items, inside)
      if (!is.null(found)) return(found)
    }
  }
  NULL
}

object_fault <- function(x, schema, where) {
  keys <- names(x)
  if (anyDuplicated(keys)) return(sprintf("%s has a key more than once", where))
  absent <- setdiff(schema$required, keys)
  if (length(absent)) return(sprintf("%s has no key %s", where, absent[1]))
  if (length(keys) < max(schema$minProperties, 0L) || length(keys) > min(schema$maxProperties, Inf)) {
    return(sprintf("%s has %d keys, which is not allowed", where, length(keys)))
  }
  declared <- names(schema$properties)
  if (identical(schema$additionalProperties, FALSE) && !all(keys %in% declared)) {
    return(sprintf("%s has unknown keys; allowed keys: %s", where, paste(declared, collapse = ", ")))
  }
  other <- if (is.list(schema$additionalProperties)) schema$additionalProperties
  for (i in seq_along(keys)) {
    inner <- if (keys[i] %in% declared) schema$properties[[keys[i]]] else other
    if (length(inner)) {
      found <- fault(x[[i]], inner, if (keys[i] %in% declared) keys[i] else paste("an entry of", where))
      if (!is.null(found)) return(found)
    }
  }
  NULL
}
