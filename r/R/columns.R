# Columns of data frames as attributes read them: values, missing values, values outside the domain. Errors quote no cell.

refuse_column <- function(name, problem) stop(sprintf("column %s: %s", name, problem), call. = FALSE)

# A column as text, numbers or booleans: its values, which of them are missing, and whether they are dates or whole numbers.
column_of <- function(x, name) {
  if (inherits(x, "AsIs")) class(x) <- setdiff(class(x), "AsIs")
  if (is.factor(x)) x <- as.character(x)
  dates <- inherits(x, c("Date", "POSIXt"))
  if (inherits(x, "POSIXt")) {
    x <- as.POSIXlt(x)
    x <- days_of_date(x$year + 1900, x$mon + 1, x$mday)
  }
  if (inherits(x, "Date")) x <- floor(as.numeric(unclass(x)))
  if (is.object(x) || !is.null(dim(x)) || !(is.character(x) || is.numeric(x) || is.logical(x))) {
    refuse_column(name, sprintf("columns of class %s are not supported; use text, numbers, booleans, factors or dates.", class(x)[1]))
  }
  if (is.logical(x) && all(is.na(x))) x <- as.character(x)
  kind <- if (is.character(x)) "text" else if (is.logical(x)) "truth" else "number"
  if (kind == "text") {
    x <- enc2utf8(x)
    if (!all(validUTF8(x[!is.na(x)]))) refuse_column(name, "the text is not UTF-8; convert it with enc2utf8.")
    x <- gsub("^[ \t\n\r\v\f]+|[ \t\n\r\v\f]+$", "", x, perl = TRUE)
  }
  whole <- is.integer(x)
  missing <- if (kind == "text") is.na(x) | x == "" else is.na(x)
  if (kind != "text") x <- as.numeric(x)
  x[missing] <- if (kind == "text") "" else 0
  list(name = name, kind = kind, values = x, missing = missing, dates = dates, whole = whole)
}

# The place of each value among words, NA if it is not one of them; only text is compared without regard to case.
places_in <- function(column, words, ignore_case = FALSE) {
  if (column$kind == "text") {
    text <- plain_words(column$values)
    return(match(if (ignore_case) chartr("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz", text) else text, words))
  }
  numbers <- vapply(words, stored_number, 0, USE.NAMES = FALSE)
  if (column$dates) {
    are <- grepl(DATE, words, perl = TRUE)
    if (!all(are | grepl("^(0|-?[1-9][0-9]*)$", words, perl = TRUE))) numbers[] <- NA
    numbers[are] <- days_of_text(words[are])
  }
  if (column$kind == "truth") numbers[!numbers %in% c(0, 1)] <- NA
  match(column$values, numbers, incomparables = NA)
}

without <- function(column, words) {
  if (length(words)) column$missing <- column$missing | !is.na(places_in(column, words))
  column
}

has_any <- function(column) !all(column$missing)

are_numbers <- function(column) {
  if (column$kind == "text") !is.na(numbers_of_text(column$values))
  else rep(column$kind == "number", length(column$values)) & is.finite(column$values)
}

numbers_in <- function(column) {
  if (column$kind == "truth") refuse_column(column$name, "expected numbers, found booleans.")
  if (column$kind == "number") {
    if (any(is.infinite(column$values[!column$missing]))) refuse_column(column$name, "the numbers must be finite.")
    return(column$values)
  }
  found <- numbers_of_text(column$values)
  if (anyNA(found[!column$missing])) refuse_column(column$name, "expected numbers, found text that does not spell a number.")
  found
}

# Text, or numbers as text, with dates of a declared format as YYYY-MM-DD.
with_plain_dates <- function(column, format, steps) {
  if (is.null(format) || column$dates || column$kind == "truth") return(column)
  if (column$kind == "number") column$values <- text_of_numbers(column, SERIAL_DAYS[[format]])
  column$kind <- "text"
  column$values <- plain_dates(column$values, format, steps)
  column
}

text_of_numbers <- function(column, serials) {
  x <- column$values
  floors <- floor(pmin(pmax(x, -1e7), 1e7))
  are_serial <- if (is.null(serials)) FALSE else floors >= serials$first & floors <= serials$last
  plain <- column$whole | (abs(x) < 1e7 & (x == floors | are_serial))
  ifelse(plain, sprintf("%.0f", (if (column$whole) x else floors) + 0), "no date")
}

NO_DATE <- "values must be dates: Date, POSIXct, or text such as 1980-12-31 or in the declared format."

days_in <- function(column) {
  if (column$dates) return(column$values)
  if (column$kind != "text") {
    if (has_any(column)) refuse_column(column$name, NO_DATE)
    return(column$values)
  }
  found <- days_of_text(column$values)
  if (anyNA(found[!column$missing])) refuse_column(column$name, NO_DATE)
  found
}

are_dates <- function(column) if (column$dates) rep(TRUE, length(column$values)) else column$kind == "text" & !is.na(days_of_text(column$values))

# The values that an attribute reads: a place in `listed` or a number for each row, and whether it is missing or outside.
cells_of <- function(a, newdata) {
  if (is.null(a$derived)) {
    column <- column_of(newdata[[a$name]], a$name)
    if (a$kind == "date") column <- with_plain_dates(column, a$format, a$steps)
  } else column <- derived_column(a, newdata)
  column <- without(column, a$missing_values)
  cells <- list(missing = column$missing)
  if (is_number(a)) {
    cells$values <- if (a$kind == "date") days_in(column) else numbers_in(column)
    inside <- cells$values >= a$low & cells$values <= a$high
    if (a$kind == "integer") inside <- inside & cells$values == floor(cells$values)
    if (a$outside == "clip") inside[] <- TRUE
  } else {
    if (a$kind != "boolean" && column$kind == "truth" && has_any(column)) {
      refuse_column(a$name, "expected text or numbers, found booleans.")
    }
    cells$values <- if (a$kind == "boolean") truths_in(column, a) else a$codes[places_in(column, a$words)]
    inside <- !is.na(cells$values)
  }
  cells$outside <- !column$missing & !(inside %in% TRUE)
  if (!a$missing && any(cells$missing)) refuse_column(a$name, "some values are missing, and the model has no bin for them; fill them in.")
  if (a$outside != "bin" && any(cells$outside)) refuse_column(a$name, "some values are outside the domain that the model declares; correct them.")
  cells
}

# 1 for false, 2 for true, NA for other values.
truths_in <- function(column, a) {
  if (!length(a$true_values)) {
    if (column$kind != "text") return(places_in(column, c("0", "1")))
    return(c(1L, 2L, 1L, 2L)[places_in(column, c("false", "true", "0", "1"), ignore_case = TRUE)])
  }
  codes <- rep(1:2, c(length(a$false_values), length(a$true_values)))
  words <- c(a$false_values, a$true_values)
  if (column$kind != "truth") return(codes[places_in(column, words)])
  codes[match(c("false", "true")[column$values + 1], words)]
}

# A derived attribute as a column, computed from columns of the table row by row.
derived_column <- function(a, newdata) {
  d <- a$derived
  columns <- lapply(d$columns, function(name) column_of(newdata[[name]], name))
  if (d$key == "prefix_of") return(prefix_column(a, without_plain(columns[[1]], d)))
  read <- lapply(columns, numbers_read, d)
  missing <- Reduce(`|`, lapply(read, `[[`, "missing"))
  if (any(Reduce(`|`, lapply(read, `[[`, "refused")))) refuse_derived(a)
  cells <- lapply(read, `[[`, "values")
  values <- switch(d$key,
    years_since = (year_and_day(d$until) - year_and_day(cells[[1]])) %/% 512,
    ratio = {
      cells <- lapply(cells, function(x) ifelse(abs(x) < 1e-100, 0, x))
      ifelse(cells[[2]] == 0, NA, cells[[1]] / cells[[2]])
    },
    Reduce(`+`, cells)
  )
  missing <- missing | is.na(values)
  values[missing] <- 0
  list(name = a$name, kind = "number", values = values, missing = missing, dates = FALSE, whole = FALSE)
}

without_plain <- function(column, d) without(with_plain_dates(column, d$format, d$steps), d$missing_values)

refuse_derived <- function(a) {
  refuse_column(a$name, sprintf("its source columns (%s) have values that do not fit the derivation; correct them.", paste(a$derived$columns, collapse = ", ")))
}

numbers_read <- function(column, d) {
  is_date <- d$key == "years_since"
  column <- without_plain(column, d)
  refused <- !column$missing & !(if (is_date) column$kind != "truth" & are_dates(column) else are_numbers(column))
  column$missing <- column$missing | refused
  values <- if (!has_any(column)) rep(0, length(column$values)) else if (is_date) days_in(column) else numbers_in(column)
  values[column$missing] <- 0
  inside <- switch(d$key, years_since = values >= FIRST_DAY & values <= LAST_DAY, ratio = abs(values) <= 1e100,
                   values >= d$each[1] & values <= d$each[2] & values == floor(values))
  list(values = values, missing = column$missing & !refused, refused = refused | (!column$missing & !inside))
}

# 512 times the year, which begins in March, plus the day in it.
year_and_day <- function(days) {
  days <- days + 719468
  in_era <- days %% 146097
  year <- (in_era - in_era %/% 1460 + in_era %/% 36524 - in_era %/% 146096) %/% 365
  (days %/% 146097 * 400 + year) * 512 + in_era - (365 * year + year %/% 4 - year %/% 100)
}

prefix_column <- function(a, column) {
  d <- a$derived
  if (column$dates || column$kind == "truth") refuse_derived(a)
  unread <- rep(FALSE, length(column$values))
  words <- column$values
  if (column$kind == "number") {
    unread <- !(floor(words) == words & (column$whole | abs(words) < 1e15))
    words <- sprintf("%.0f", ifelse(unread, 0, words) + 0)
  }
  words <- plain_words(words)
  if (!is.null(d$length)) found <- substr(words, 1L, d$length)
  else {
    found <- rep(NA_character_, length(words))
    sizes <- nchar(d$prefixes, "chars")
    for (size in sort(unique(sizes), decreasing = TRUE)) {
      place <- match(substr(words, 1L, size), d$prefixes[sizes == size])
      found <- ifelse(is.na(found), d$value_of[sizes == size][place], found)
    }
  }
  outside <- strrep("-", max(nchar(c(a$listed, a$missing_values)), d$length, 0) + 1L)
  found[is.na(found) | unread] <- outside
  found[column$missing] <- NA
  column_of(found, a$name)
}
