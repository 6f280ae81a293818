# Values in the text of files and cells: exact numbers, words, and dates of the Gregorian calendar.

NUMBER <- paste0("^[-+]?(([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]{1,2})?|[1-9]([.][0-9]+)?[eE]([-+]?",
                 "([12][0-9][0-9]|30[0-7])|-(30[89]|31[0-9]|32[0-3]))|[3-9]([.][0-9]+)?[eE]-324)$")
DATE <- paste0("^(([0-9]{3}[1-9]|[0-9]{2}[1-9][0-9]|[0-9][1-9][0-9]{2}|[1-9][0-9]{3})-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])",
               "|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))|([0-9]{2}(0[48]|[2468][048]|[13579][26])",
               "|([2468][048]|0[48]|[13579][26])00)-02-29)$")
FRACTION <- "([.][0-9]{1,17})?$"
# The date systems of spreadsheets by format: the first and the last serial day, the days from 1970-01-01 to serial day
# 0, and the text of serial days.
SERIAL_DAYS <- list(
  excel = list(first = 61, last = 2958465, zero = -25569,
               pattern = paste0("^(6[1-9]|[7-9][0-9]|[1-9][0-9]{2,5}|1[0-9]{6}|2[0-8][0-9]{5}|29[0-4][0-9]{4}|295[0-7][0-9]{3}",
                                "|2958[0-3][0-9]{2}|29584[0-5][0-9]|295846[0-5])", FRACTION)),
  "excel-1904" = list(first = 1, last = 2957003, zero = -24107,
                      pattern = paste0("^([1-9][0-9]{0,5}|1[0-9]{6}|2[0-8][0-9]{5}|29[0-4][0-9]{4}|295[0-6][0-9]{3}",
                                       "|295700[0-3])", FRACTION))
)
FIRST_DAY <- -719162
LAST_DAY <- 2932896

# The doubles nearest to numbers in text. R's own parser is sometimes off by a digit; jsonlite's is exact.
numbers_of_text <- function(text) {
  found <- rep(NA_real_, length(text))
  are <- grepl(NUMBER, text, perl = TRUE) & nchar(text) <= 200L
  if (any(are)) {
    sign <- ifelse(startsWith(text[are], "-"), "-", "")
    parts <- regmatches(text[are], regexec("^[-+]?0*([0-9]*)[.]?([0-9]*)([eE].*)?$", text[are]))
    whole <- vapply(parts, `[`, "", 2L)
    rest <- vapply(parts, `[`, "", 3L)
    power <- vapply(parts, `[`, "", 4L)
    written <- paste0(sign, ifelse(whole == "", "0", whole), ".", ifelse(rest == "", "0", rest), ifelse(power == "", "e0", power))
    found[are] <- jsonlite::fromJSON(paste0("[", paste(written, collapse = ","), "]"))
  }
  found
}

# A number as Python writes it: the fewest digits that identify it, whole numbers below 1e16 without a decimal point.
text_of_number <- function(x) {
  if (is.infinite(x)) return(if (x > 0) "inf" else "-inf")
  if (x == floor(x) && abs(x) < 1e16) return(sprintf("%.0f", x + 0))
  for (digits in 14:16) { # trailing zeros are removed below
    text <- sprintf("%.*e", digits, x)
    if (identical(jsonlite::fromJSON(paste0("[", text, "]")) + 0, x)) break
  }
  digits <- nchar(sub("0+$", "", sub("^-?[0-9][.]([0-9]*)e.*", "\\1", text)))
  text <- sprintf("%.*e", digits, x)
  power <- as.integer(sub(".*e", "", text))
  if (power < -4L || power >= 16L) {
    return(paste0(sub("[.]?0*e.*", "", sub("^(-?[0-9])e", "\\1.e", text)), sprintf("e%s%02d", if (power < 0) "-" else "+", abs(power))))
  }
  sprintf("%.*f", max(digits - power, 0L), x)
}

word_of <- function(x) {
  text <- if (is.logical(x)) if (x) "true" else "false" else if (is.character(x)) x else text_of_number(as.numeric(x))
  plain_words(text)
}
words_of <- function(x) vapply(x, word_of, "", USE.NAMES = FALSE)
plain_words <- function(text) sub("^(-?[0-9]+)[.]0+$", "\\1", text, perl = TRUE)

# The number that a word spells, NA if it is not a number or not exactly a double.
stored_number <- function(word) {
  if (word %in% c("inf", "-inf")) return(if (word == "inf") Inf else -Inf)
  number <- if (grepl("^(0|-?[1-9][0-9]*)$", word, perl = TRUE)) as.numeric(word) else numbers_of_text(word)
  if (is.na(number)) NA_real_
  else if (grepl("^(0|-?[1-9][0-9]*)$", word, perl = TRUE)) {
    if (sprintf("%.0f", number) == word) number else NA_real_
  }
  else if (text_of_number(number) == word) number else NA_real_
}

days_of_date <- function(year, month, day) { # Hinnant, days_from_civil
  year <- year - (month <= 2)
  era <- year %/% 400
  of_era <- year - era * 400
  of_year <- (153 * (month + ifelse(month > 2, -3, 9)) + 2) %/% 5 + day - 1
  era * 146097 + of_era * 365 + of_era %/% 4 - of_era %/% 100 + of_year - 719468
}

days_of_text <- function(text) {
  found <- rep(NA_real_, length(text))
  are <- grepl(DATE, text, perl = TRUE)
  part <- function(first, last) as.numeric(substr(text[are], first, last))
  found[are] <- days_of_date(part(1, 4), part(6, 7), part(9, 10))
  found
}

text_of_days <- function(days) {
  days <- days + 719468
  era <- days %/% 146097
  of_era <- days - era * 146097
  year <- (of_era - of_era %/% 1460 + of_era %/% 36524 - of_era %/% 146096) %/% 365
  of_year <- of_era - (365 * year + year %/% 4 - year %/% 100)
  month <- (5 * of_year + 2) %/% 153
  day <- of_year - (153 * month + 2) %/% 5 + 1
  month <- month + ifelse(month < 10, 3, -9)
  sprintf("%04.0f-%02.0f-%02.0f", year + era * 400 + (month <= 2), month, day)
}

# The replacements that rewrite text in a declared format as YYYY-MM-DD, by the package's own expressions.
format_steps <- function(format) {
  if (is.null(format) || format %in% names(SERIAL_DAYS)) return(NULL)
  padded <- c("^ ([0-9]{4})-0?([0-9]{2})-0?([0-9]{2})$", "\\1-\\2-\\3")
  if (format == "iso") {
    iso <- "^([0-9]{4})-([0-9]{2})-([0-9]{2})([T ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,9})?)?)?$"
    return(list(c(iso, " \\1-0\\2-0\\3"), padded))
  }
  parts <- regmatches(format, gregexpr("%.|.", format, perl = TRUE))[[1]]
  free <- c("%Y" = "([0-9]{4})", "%m" = "([0-9]{1,2})", "%d" = "([0-9]{1,2})", "%H" = "([01]?[0-9]|2[0-3])",
            "%M" = "[0-5][0-9]", "%S" = "[0-5][0-9]", "%f" = "[0-9]{1,9}")
  fixed <- c("%m" = "([0-9]{2})", "%d" = "([0-9]{2})", "%H" = "([01][0-9]|2[0-3])")
  are <- startsWith(parts, "%")
  if (!all(parts %in% c(names(free), "-", ".", "/", ",", ":", ";", " ", "T")) || !setequal(parts[parts %in% names(free)[1:3]], names(free)[1:3])
      || anyDuplicated(parts[are])) unreadable("a declared format of dates is not supported")
  near <- c(FALSE, are[-length(are)]) | c(are[-1], FALSE)
  pieces <- ifelse(are, free[parts], ifelse(parts == "-", "-", paste0("[", parts, "]")))
  at <- parts %in% names(fixed) & near
  pieces[at] <- fixed[parts[at]]
  group <- cumsum(c(0, head_of(grepl("(", pieces, fixed = TRUE)))) + 1
  place <- group[match(c("%Y", "%m", "%d"), parts)]
  list(c(paste0("^", paste(pieces, collapse = ""), "$"), sprintf(" \\%d-0\\%d-0\\%d", place[1], place[2], place[3])), padded)
}

head_of <- function(x) x[-length(x)]

plain_dates <- function(text, format, steps) {
  for (step in steps) text <- sub(step[1], step[2], text, perl = TRUE)
  serials <- if (!is.null(format)) SERIAL_DAYS[[format]]
  if (!is.null(serials)) {
    are <- grepl(serials$pattern, text, perl = TRUE) & !is.na(text)
    text[are] <- text_of_days(as.numeric(sub("[.].*", "", text[are])) + serials$zero)
  }
  text
}
