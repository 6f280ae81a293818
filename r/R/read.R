# Reader of model files, which need not be trusted: they are bounded, checked against the schema, and never evaluated.

LARGEST_FILE <- 2^23
MOST_NESTED <- 100L
MAX_DEPTH <- 64L

read_model <- function(file) {
  if (!is.character(file) || length(file) != 1L || is.na(file)) stop("`file` must be the path of a model file.", call. = FALSE)
  if (!file.exists(file) || dir.exists(file)) stop(sprintf("the file %s does not exist.", file), call. = FALSE)
  refuse <- function(problem) stop(sprintf("%s: not a valid hedgerow model: %s.", file, problem), call. = FALSE)
  if (file.size(file) > LARGEST_FILE) refuse(sprintf("the file must have at most %d bytes, found %.0f", LARGEST_FILE, file.size(file)))
  data <- tryCatch(parse_text(read_utf8(file)), hedgerow_unreadable = function(e) refuse(conditionMessage(e)))
  if (!is_object(data)) refuse("expected a JSON object, found a list")
  if (!is.null(data$version) && !isTRUE(as.character(data$version) == "2")) {
    refuse("this release of the package reads files of version 2 only; use the release that belongs to the file")
  }
  tryCatch({
    problem <- fault(data, MODEL_SCHEMA)
    if (!is.null(problem)) unreadable(problem)
    check_card(data$privacy)
    model_of(data)
  }, hedgerow_unreadable = function(e) refuse(conditionMessage(e)))
}

unreadable <- function(...) {
  stop(structure(list(message = sprintf(...), call = NULL), class = c("hedgerow_unreadable", "error", "condition")))
}

read_utf8 <- function(path) {
  bytes <- readBin(path, "raw", file.size(path))
  if (length(bytes) >= 3L && identical(bytes[1:3], as.raw(c(0xef, 0xbb, 0xbf)))) bytes <- bytes[-(1:3)]
  if (any(bytes == 0)) unreadable("the file is not text in UTF-8")
  text <- rawToChar(bytes)
  if (!validUTF8(text)) unreadable("the file is not text in UTF-8")
  Encoding(text) <- "UTF-8"
  text
}

# Parse JSON text within bounds. It is validated first, because jsonlite reads other text as an address.
parse_text <- function(text) {
  bare <- tryCatch(gsub('"(?:[^"\\\\]++|\\\\.)*+"', '""', text, perl = TRUE, useBytes = TRUE),
                   error = function(e) NA, warning = function(e) NA)
  if (is.na(bare)) unreadable("the file is not JSON")
  marks <- utf8ToInt(gsub("[^][{}]+", "", bare, useBytes = TRUE))
  depth <- cumsum((marks %in% c(91L, 123L)) - (marks %in% c(93L, 125L)))
  if (length(depth) && max(depth) > MOST_NESTED) unreadable("the JSON is nested more than %d levels deep", MOST_NESTED)
  if (grepl("[0-9]{401}", bare, perl = TRUE, useBytes = TRUE)) unreadable("whole numbers may have at most 400 digits")
  if (!isTRUE(as.logical(jsonlite::validate(text)))) unreadable("the file is truncated or not JSON")
  data <- tryCatch(jsonlite::fromJSON(text, simplifyVector = FALSE, bigint_as_char = TRUE), error = function(e) NULL)
  if (!is.list(data)) unreadable("expected a JSON object, found a single value")
  numbers <- rapply(data, function(x) is.finite(x), classes = c("numeric", "integer"), how = "unlist")
  if (!all(numbers)) unreadable("all numbers must be finite")
  data
}

# The totals of a card are the sums of its charges, and it is void if a charge is void.
check_card <- function(privacy) {
  charges <- privacy$charges
  if (!length(charges)) return(invisible())
  for (amount in c("epsilon", "delta")) {
    sum <- sum(vapply(charges, function(charge) as.numeric(charge[[amount]]), 0))
    stated <- as.numeric(privacy[[amount]])
    if (length(stated) != 1L || abs(sum - stated) > 1e-9 * max(sum, stated)) unreadable("the %s of the privacy card is not the sum of its charges", amount)
  }
  sensitivities <- unlist(lapply(charges, function(charge) if (isTRUE(charge$mechanism$code %in% c("discrete_laplace", "shared_histograms"))) charge$mechanism$sensitivity))
  if (any(as.numeric(sensitivities) < 1)) unreadable("the sensitivity of a mechanism for counts must be at least 1")
  void <- !vapply(charges, function(charge) is.null(charge$void), NA)
  if (any(void) && !length(privacy$void)) unreadable("a charge is void, but the privacy card is not")
}

# The model of checked data.
model_of <- function(data) {
  target <- target_of(data$schema$label)
  attributes <- Map(attribute_of, data$schema$attributes, names(data$schema$attributes))
  sources <- unlist(lapply(attributes, function(a) if (!is.null(a$derived)) a$derived$columns))
  derived <- names(attributes)[!vapply(attributes, function(a) is.null(a$derived), NA)]
  if (any(sources %in% derived)) unreadable("an attribute is derived from another derived attribute")
  model <- list(kind = sub("^hedgerow/", "", data$format), target = target, attributes = attributes,
                privacy = data$privacy, digest = data$digest, costs = costs_of(data$costs, target))
  model <- switch(model$kind,
    "rule-list" = rule_list_of(model, data$rules),
    "tree" = tree_of(model, data$root),
    "scorecard" = scorecard_of(model, data)
  )
  structure(model, class = "hedgerow")
}

target_of <- function(label) {
  if (is.null(label$classes)) {
    if (!(label$low < label$high)) unreadable("the lower bound of %s must be below its upper bound", label$name)
    levels <- if (is.null(label$levels)) 32L else label$levels
    middles <- label$low + (label$high - label$low) * (2 * seq_len(levels) - 1) / (2 * levels)
    return(list(name = label$name, number = TRUE, low = label$low, high = label$high, values = middles))
  }
  types <- vapply(label$classes, function(x) type_of(x)[1], "")
  if (any(types == "integer")) types[vapply(label$classes, is_digits, NA)] <- "integer"  # integers beyond 2^31 are read as text
  is_text <- all(types == "string")
  if (length(unique(types)) > 1L && !is_text) unreadable("all classes must have the same type")
  words <- vapply(label$classes, class_word, "")
  if (anyDuplicated(words)) unreadable("a class is listed more than once")
  list(name = label$name, number = FALSE, type = types[1], values = words, ordered = isTRUE(label$ordered))
}

# The costs that the fit minimised, by actual class, then by predicted class.
costs_of <- function(lines, target) {
  if (is.null(lines)) return(NULL)
  size <- length(target$values)
  if (target$number || length(lines) != size || any(lengths(lines) != size)) unreadable("costs must have a number for each pair of classes")
  matrix(as.numeric(unlist(lines)), size, byrow = TRUE)
}

class_word <- function(x) if (is.logical(x)) if (x) "True" else "False" else if (is.character(x)) x else word_of(x)

attribute_of <- function(data, name) {
  a <- c(list(name = name), data)
  a$missing <- identical(data$missing, "bin")
  a$outside <- if (is.null(data$outside)) "error" else data$outside
  a$missing_values <- words_of(data$missing_values)
  if (length(a$missing_values) && !a$missing) unreadable("%s declares missing values but has no bin for them", name)
  a$listed <- switch(a$kind, categorical = , ordered = words_of(a$values), boolean = c("false", "true"), NULL)
  if (a$kind == "boolean" && !is.null(a$true_values) != !is.null(a$false_values)) {
    unreadable("%s must have words for both true and false", name)
  }
  if (a$kind == "boolean") {
    a$true_values <- words_of(a$true_values)
    a$false_values <- words_of(a$false_values)
  }
  others <- lapply(if (a$kind %in% c("categorical", "ordered")) data$other_spellings, words_of)
  if (length(others) && length(others) != length(a$listed)) unreadable("the number of spellings of %s differs from its number of values", name)
  a$words <- c(a$listed, unlist(others))
  a$codes <- c(seq_along(a$listed), rep(seq_along(others), lengths(others)))
  declared <- c(a$words, a$missing_values)
  if (a$kind %in% c("categorical", "ordered") && anyDuplicated(declared)) unreadable("a value of %s is listed more than once", name)
  if (a$kind == "date") {
    a$low <- days_of_text(a$low)
    a$high <- days_of_text(a$high)
    a$steps <- format_steps(a$format)
    a$missing_values <- plain_dates(a$missing_values, a$format, a$steps)
  }
  if (is_number(a)) {
    if (anyNA(c(a$low, a$high)) || !(a$low < a$high)) unreadable("the lower bound of %s must be below its upper bound", name)
    if (!is.null(a$cuts)) {
      a$cuts <- if (a$kind == "date") days_of_text(unlist(a$cuts)) else as.numeric(unlist(a$cuts))
      check_cuts(a$cuts, a)
    }
  }
  if (!is.null(data$derived)) a$derived <- derivation_of(data$derived, a)
  a
}

is_number <- function(a) a$kind %in% c("integer", "real", "date")

check_cuts <- function(cuts, a) {
  if (anyNA(cuts) || any(diff(cuts) <= 0) || any(cuts < a$low) || any(cuts >= a$high)) {
    unreadable("the cut points of %s must increase within its bounds", a$name)
  }
}

derivation_of <- function(data, a) {
  key <- intersect(names(data), c("years_since", "prefix_of", "ratio", "sum"))
  if (length(key) != 1L) unreadable("%s must have exactly one derivation, found %d", a$name, length(key))
  kinds <- switch(key, ratio = "real", prefix_of = c("categorical", "ordered"), c("integer", "real"))
  if (!a$kind %in% kinds || length(a$missing_values)) unreadable("the derivation does not fit the declaration of %s", a$name)
  d <- c(list(key = key, columns = unlist(data[[key]])), data[setdiff(names(data), key)])
  if (anyDuplicated(d$columns)) unreadable("the derivation of %s uses a column more than once", a$name)
  d$missing_values <- words_of(data$missing_values)
  if (key == "years_since") {
    d$until <- days_of_text(d$until)
    if (is.na(d$until)) unreadable("the end date of the years of %s is not a date", a$name)
    d$steps <- format_steps(d$format)
    d$missing_values <- plain_dates(d$missing_values, d$format, d$steps)
  }
  if (key == "sum") {
    d$each <- as.numeric(unlist(d$each))
    if (!(d$each[1] < d$each[2])) unreadable("the lower bound of the items of %s must be below their upper bound", a$name)
  }
  if (key == "prefix_of") {
    if (is.null(d$length) == is.null(d$mapping)) unreadable("the prefix of %s must have either a length or a mapping", a$name)
    if (!is.null(d$mapping)) {
      d$value_of <- rep(names(d$mapping), lengths(d$mapping))
      d$prefixes <- unlist(d$mapping, use.names = FALSE)
      if (length(d$prefixes) > 1000L || anyDuplicated(d$prefixes) || !setequal(d$value_of, a$listed)) {
        unreadable("the mapping of %s must have each prefix once, and a prefix for each value", a$name)
      }
    }
  }
  d
}

rule_list_of <- function(model, rules) {
  empty <- lengths(lapply(rules, `[[`, "if")) == 0L
  if (which(empty)[1] %in% NA || which(empty)[1] != length(rules)) {
    unreadable("the last rule, and no other rule, must be a default rule without conditions")
  }
  model$rules <- lapply(rules, function(rule) lapply(rule$`if`, literal_of, model$attributes))
  leaves_of(model, rules)
}

# The nodes of a tree in the order of the file: the nodes of the true branch come before the nodes of the false branch.
tree_of <- function(model, root) {
  nodes <- list()
  leaves <- list()
  walk <- function(node, depth) {
    if (is.null(node$`if`)) {
      leaves[[length(leaves) + 1L]] <<- node
      return(-length(leaves))
    }
    if (depth >= MAX_DEPTH) unreadable("the tree is deeper than %d", MAX_DEPTH)
    place <- length(nodes) + 1L
    nodes[[place]] <<- list(literal = literal_of(node$`if`, model$attributes))
    true <- walk(node$true, depth + 1L)
    false <- walk(node$false, depth + 1L)
    nodes[[place]]$true <<- true
    nodes[[place]]$false <<- false
    place
  }
  model$root <- walk(root, 0L)
  model$nodes <- nodes
  leaves_of(model, leaves)
}

OPERANDS <- c("=" = 1L, "!=" = 1L, "<=" = 1L, ">" = 1L, between = 2L, true = 0L, false = 0L, missing = 0L, known = 0L, outside = 0L)

# A literal with the places of the values, or the numbers, in its comparison.
literal_of <- function(data, attributes) {
  a <- attributes[[data$attribute]]
  if (is.null(a)) unreadable("a test uses an attribute that the schema does not declare")
  operator <- data$operator
  own <- switch(a$kind, boolean = c("true", "false"), categorical = c("=", "!="),
                ordered = c("=", "!=", "<=", ">", "between"), c("<=", ">", "between"))
  own <- c(own, if (a$missing) c("missing", "known"), if (a$outside == "bin") c("outside", "known"))
  if (!operator %in% own || length(data$operands) != OPERANDS[[operator]]) {
    unreadable("a test does not fit the declaration of %s", a$name)
  }
  found <- list(attribute = a$name, operator = operator, words = vapply(data$operands, word_of, ""))
  if (!is.null(a$listed) && a$kind != "boolean") {
    found$places <- match(found$words, a$listed)
    if (anyNA(found$places)) unreadable("a test of %s uses a value that the schema does not list", a$name)
  } else if (is_number(a) && length(data$operands)) {
    found$numbers <- if (a$kind == "date") days_of_text(found$words) else {
      if (!all(vapply(data$operands, is.numeric, NA))) unreadable("a test of %s must compare it with a number", a$name)
      as.numeric(unlist(data$operands))
    }
    inside <- !anyNA(found$numbers) && all(found$numbers >= a$low & found$numbers < a$high)
    if (!inside || (!is.null(a$cuts) && !all(found$numbers %in% a$cuts))) {
      unreadable("a test of %s does not use one of its cut points", a$name)
    }
  }
  found
}

# The leaves of a model: predictions, released values, and probabilities as in Python (`LeafModel.probabilities`).
leaves_of <- function(model, leaves) {
  target <- model$target
  size <- length(target$values)
  if (length(leaves) * size > 2^22) unreadable("the model has more than 4,194,304 probabilities")
  counts <- lapply(leaves, function(leaf) if (is.null(leaf$counts)) NULL else as.numeric(unlist(leaf$counts)))
  drawn <- lapply(leaves, function(leaf) if (is.null(leaf$probabilities)) NULL else as.numeric(unlist(leaf$probabilities)))
  for (found in c(counts, drawn)) if (!is.null(found) && length(found) != size) unreadable("a leaf must have %d counts or probabilities, found %d", size, length(found))
  model$counts <- counts
  model$drawn <- !vapply(drawn, is.null, NA)
  if (target$number) {
    model$predictions <- vapply(leaves, function(leaf) predicted_number(leaf, target), 0)
    model$sums <- lapply(leaves, function(leaf) if (is.null(leaf$sums)) NULL else as.numeric(unlist(leaf$sums)))
    if (length(unlist(model$sums)) && length(unlist(counts))) unreadable("leaves must have either counts or sums, found both")
    return(model)
  }
  said <- vapply(leaves, function(leaf) class_place(leaf$then, target), 1L)
  labels <- vapply(leaves, function(leaf) if (is.null(leaf$label)) NA_integer_ else class_place(leaf$label, target), 1L)
  if (any(said != labels, na.rm = TRUE)) unreadable("the prediction of a leaf differs from its label")
  model$probabilities <- leaf_shares(counts, drawn, labels, size)
  mode <- max.col(model$probabilities, ties.method = "first")
  if (any((mode != said)[is.na(labels) | model$drawn])) unreadable("the prediction of a leaf is not its most probable class")
  model$predictions <- said
  model
}

class_place <- function(x, target) {
  type <- if (target$type == "string") is.character(x) else type_of(x)[1] == target$type || is_digits(x)
  place <- if (type) match(class_word(x), target$values) else NA_integer_
  if (is.na(place)) unreadable("a prediction is not a class of the label")
  place
}

predicted_number <- function(leaf, target) {
  found <- list(leaf$then, leaf$mean, leaf$label)
  found <- found[!vapply(found, is.null, NA)]
  if (!all(vapply(found, is.numeric, NA)) || !is.null(leaf$probabilities)) unreadable("all predictions must be numbers")
  number <- as.numeric(found[[1]])
  if (length(found) > 1L && number != as.numeric(found[[2]])) unreadable("the prediction of a leaf differs from its mean")
  if (number < target$low || number > target$high) unreadable("a prediction is outside the bounds of %s", target$name)
  number
}

leaf_shares <- function(counts, drawn, labels, size) {
  found <- matrix(0, length(counts), size)
  has <- !vapply(counts, is.null, NA) & vapply(drawn, is.null, NA)
  for (i in which(has)) found[i, ] <- pmax(counts[[i]], 0)
  whole <- if (sum(found) > 0) colSums(found) else rep(1, size)
  for (i in seq_along(counts)) {
    if (!is.null(drawn[[i]])) {
      if (is.na(labels[i]) || abs(sum(drawn[[i]]) - 1) > 1e-9) unreadable("probabilities must have a label and sum to 1")
      found[i, ] <- drawn[[i]]
    } else if (!has[i]) {
      if (is.na(labels[i])) unreadable("a leaf has neither counts nor a label")
      found[i, labels[i]] <- 1
    } else {
      row <- if (any(found[i, ] != 0)) found[i, ] else whole
      found[i, ] <- row / sum(row)
    }
  }
  found
}

scorecard_of <- function(model, data) {
  model$base <- as.numeric(unlist(data$base))
  width <- if (model$target$number || length(model$target$values) == 2L) 1L else length(model$target$values)
  if (length(model$base) != width) unreadable("the base must have %d points, found %d", width, length(model$base))
  named <- vapply(data$parts, `[[`, "", "attribute")
  if (anyDuplicated(named) || !all(named %in% names(model$attributes))) unreadable("points must be for attributes of the schema, each once")
  model$parts <- lapply(data$parts, part_of, model$attributes, width)
  highest <- Reduce(`+`, lapply(model$parts, function(p) apply(abs(p$points), 2L, max)), abs(model$base))
  if (any(highest > 2e9)) unreadable("totals must be at most 1,000,000,000")
  model$unit <- data$unit
  span <- if (model$target$number) model$target$high - model$target$low else 1e6
  if (model$unit > span) unreadable("the unit is larger than %s", format(span))
  model$error <- data$error
  model$scale <- scale_of(model, data$scale)
  model
}

# Totals of two classes: the log-odds of the second class are sign * unit * (total - even). It is predicted if a total is
# beyond the limit, which is `even` rounded so that comparisons of whole totals have the same result.
scale_of <- function(model, data) {
  if (is.null(data)) return(list(sign = 1, even = 0, limit = 0, favourable = 2L))
  if (model$target$number || length(model$target$values) != 2L) unreadable("points that double the odds need two classes")
  if (abs(model$unit * data$pdo / log(2) - 1) > 1e-12) unreadable("the unit must be ln 2 / pdo")
  favourable <- class_place(data$favourable, model$target)
  even <- data$score - data$pdo * log2(data$odds)
  sign <- if (favourable == 2L) 1 else -1
  list(sign = sign, even = even, limit = if (sign > 0) floor(even) else ceiling(even), favourable = favourable, pdo = data$pdo,
       score = data$score, odds = data$odds, rounding = data$rounding)
}

part_of <- function(part, attributes, width) {
  a <- attributes[[part$attribute]]
  bins <- unlist(part$bins)
  known <- length(bins) - a$missing - (a$outside == "bin")
  expected <- c(if (a$missing) "missing", if (a$outside == "bin") "outside")
  if (known < 1L || !identical(bins[-seq_len(known)], c(character(), expected))) unreadable("the bins of %s do not fit its declaration", a$name)
  points <- lapply(part$points, function(row) as.numeric(unlist(row)))
  if (length(points) != length(bins) || any(lengths(points) != width)) unreadable("%s must have points for each bin", a$name)
  cuts <- a$cuts
  if (is_number(a)) {
    cuts <- cuts_of_bins(bins[seq_len(known)], a)
    if (!is.null(a$cuts) && !identical(cuts, a$cuts)) unreadable("the bins of %s do not fit its declaration", a$name)
  } else if (!identical(bins[seq_len(known)], a$listed)) unreadable("the bins of %s do not fit its declaration", a$name)
  errors <- lapply(part$errors, function(row) as.numeric(unlist(row)))
  if (length(errors) && !identical(lengths(errors), lengths(points))) unreadable("%s must have an error for each number of points", a$name)
  unsupported <- as.numeric(unlist(part$unsupported)) + 1
  if (any(diff(unsupported) <= 0) || any(unsupported > length(bins))) unreadable("the unsupported bins of %s must be in rising order", a$name)
  rows <- as.numeric(unlist(part$rows))
  if (length(rows) != length(bins) * !is.null(part$rows_error)) unreadable("%s must have rows for each bin", a$name)
  list(attribute = a$name, bins = bins, cuts = cuts, points = do.call(rbind, points), errors = do.call(rbind, errors), unsupported = unsupported,
       rows = rows, rows_error = part$rows_error)
}

# The cut points between bins such as (30, 45]. Default cut points are in the file only as names of bins.
cuts_of_bins <- function(bins, a) {
  ends <- regmatches(bins, regexec("^([[(])([^ ,]+), ([^ ,]+)\\]$", bins))
  if (any(lengths(ends) != 4L)) unreadable("the bins of %s must be intervals", a$name)
  number <- if (a$kind == "date") days_of_text else numbers_of_text
  low <- number(vapply(ends, `[`, "", 3L))
  high <- number(vapply(ends, `[`, "", 4L))
  if (anyNA(c(low, high)) || low[1] != a$low || high[length(high)] != a$high || !identical(low[-1], high[-length(high)])) {
    unreadable("the bins of %s do not fit its declaration", a$name)
  }
  check_cuts(low[-1], a)
  low[-1]
}
