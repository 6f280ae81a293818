# Models as text and as data frames, and privacy cards.

quoted <- function(word) ifelse(grepl("[ ,\"']", word), paste0("\"", word, "\""), word)

# Control characters, and characters that change the direction of writing, are invisible and therefore escaped.
printable <- function(text) {
  text <- enc2utf8(as.character(text))
  odd <- "(*UTF)[\\x{0}-\\x{1f}\\x{7f}-\\x{9f}\\x{61c}\\x{200e}\\x{200f}\\x{2028}-\\x{202e}\\x{2066}-\\x{2069}]"
  at <- grepl(odd, text, perl = TRUE)
  text[at] <- vapply(text[at], function(line) {
    marks <- strsplit(line, "", fixed = TRUE)[[1]]
    unseen <- grepl(odd, marks, perl = TRUE)
    marks[unseen] <- sprintf("\\u%04x", vapply(marks[unseen], utf8ToInt, 1L))
    paste(marks, collapse = "")
  }, "", USE.NAMES = FALSE)
  text
}

literal_text <- function(literal, operator = literal$operator) {
  a <- printable(literal$attribute)
  words <- quoted(printable(literal$words))
  switch(operator,
    true = a, false = paste("not", a), missing = paste(a, "is missing"), known = paste(a, "is not missing"),
    outside = paste(a, "is outside its domain"), between = sprintf("%s < %s <= %s", words[1], a, words[2]),
    paste(a, operator, words)
  )
}

OPPOSITES <- c(true = "false", false = "true", missing = "known", known = "missing", "=" = "!=", "!=" = "=", "<=" = ">", ">" = "<=")

# The condition of the tests of an attribute: text, and whether a missing value also satisfies it.
condition_of <- function(tests, a) {
  operators <- vapply(tests, function(test) test$literal$operator, "")
  holds <- vapply(tests, `[[`, NA, "holds")
  is_known <- (operators == "missing" & !holds) | (operators == "known" & holds)
  if (any(is_known) && !all(is_known) && a$outside != "bin") {
    a$missing <- FALSE
    return(condition_of(tests[!is_known], a))
  }
  only <- holds & operators %in% c("missing", "outside")
  if (sum(only) == 1L && sum(holds) == 1L && !any(operators %in% c("known", "!="))) {
    return(list(text = literal_text(tests[[which(only)]]$literal), either = FALSE))
  }
  is_inside <- operators == "outside" & !holds
  if (any(is_inside) && !all(is_inside)) {
    a$outside <- "error"
    return(condition_of(tests[!is_inside], a))
  }
  ends <- ends_of(tests, ifelse(holds, operators, OPPOSITES[operators]))
  if (!is.null(ends) && (any(holds) || a$outside != "bin")) {
    may_miss <- a$missing && !any(holds)
    if (nzchar(ends)) return(list(text = ends, either = may_miss))
    if (may_miss) return(list(text = literal_text(tests[[1]]$literal, "missing"), either = FALSE))
  }
  each <- lapply(tests, function(test) {
    literal <- test$literal
    opposite <- OPPOSITES[literal$operator]
    is_exact <- !is.na(opposite) && (a$outside != "bin" || literal$operator %in% c("=", "missing", "known"))
    if (test$holds) list(text = literal_text(literal), either = FALSE)
    else if (!is_exact) list(text = sprintf("not (%s)", literal_text(literal)), either = FALSE)
    else list(text = literal_text(literal, opposite), either = a$missing && !literal$operator %in% c("missing", "known"))
  })
  if (length(each) == 1L) each[[1]] else list(text = joined(each), either = FALSE)
}

# The interval between comparisons, "" if it is empty; NULL if any test is not a comparison.
ends_of <- function(tests, operators) {
  if (length(tests) < 2L || !all(operators %in% c("<=", ">", "between"))) return(NULL)
  at <- lapply(tests, function(test) if (is.null(test$literal$numbers)) test$literal$places else test$literal$numbers)
  words <- lapply(tests, function(test) test$literal$words)
  last <- lengths(words)
  low <- ifelse(operators == "<=", -Inf, vapply(at, `[`, 0, 1L))
  high <- ifelse(operators == ">", Inf, mapply(`[`, at, last))
  if (max(low) >= min(high)) return("")
  from <- words[[which.max(low)]][1]
  to <- mapply(`[`, words, last)[which.min(high)]
  operator <- if (max(low) == -Inf) "<=" else if (min(high) == Inf) ">" else "between"
  literal_text(list(attribute = tests[[1]]$literal$attribute, words = c(if (operator != "<=") from, if (operator != ">") to)), operator)
}

joined <- function(parts) {
  text <- vapply(parts, function(part) paste0(part$text, if (part$either) " or missing"), "")
  is_grouped <- length(parts) > 1L & vapply(parts, `[[`, NA, "either")
  paste0(ifelse(is_grouped, "(", ""), text, ifelse(is_grouped, ")", ""), collapse = " and ")
}

conditions_of <- function(object) {
  if (object$kind == "rule-list") {
    return(vapply(object$rules, function(rule) {
      if (length(rule)) paste(vapply(rule, literal_text, ""), collapse = " and ") else "otherwise"
    }, ""))
  }
  found <- character(length(object$predictions))
  walk <- function(place, path) {
    if (place < 0) {
      path <- unique(path)
      names <- vapply(path, function(test) test$literal$attribute, "")
      parts <- lapply(unique(names), function(name) condition_of(path[names == name], object$attributes[[name]]))
      found[-place] <<- if (length(path)) joined(parts) else "always"
    } else {
      node <- object$nodes[[place]]
      walk(node$true, c(path, list(list(literal = node$literal, holds = TRUE))))
      walk(node$false, c(path, list(list(literal = node$literal, holds = FALSE))))
    }
  }
  walk(object$root, list())
  found
}

predictions_of <- function(object) {
  if (object$target$number) vapply(object$predictions, text_of_number, "")
  else printable(shown_classes(object)[object$predictions])
}

rows_of <- function(object) pmax(support_of(object)$rows, 0)

notes_of <- function(object) {
  support <- support_of(object)
  vapply(seq_along(object$predictions), function(i) note_of(object, support, i), "")
}

noted <- function(lines, notes) {
  width <- max(nchar(lines[notes != ""], "width"), 0)
  pad <- strrep(" ", pmax(width - nchar(lines, "width"), 0))
  ifelse(notes == "", lines, paste0(lines, pad, "    # ", notes))
}

leaf_lines <- function(object, full) {
  support <- support_of(object)
  groups <- list()
  lines <- character()
  marks <- character()
  add <- function(line, leaves = integer()) {
    lines <<- c(lines, line)
    marks <<- c(marks, if (length(leaves)) note_of(object, support, leaves) else "")
    if (length(leaves)) groups <<- c(groups, list(leaves))
  }
  if (object$kind == "rule-list") {
    last <- length(object$predictions)
    conditions <- conditions_of(object)
    for (leaves in if (full) as.list(seq_len(last)) else rule_groups(object, support, MOST_LINES)) {
      first <- leaves[1]
      when <- if (length(leaves) > 1L) sprintf("any of rules %d to %d", first, max(leaves)) else conditions[first]
      head <- if (first == last) (if (last == 1L) "always " else "else ") else paste0(if (first == 1L) "if " else "else if ", when, " then ")
      add(paste0(head, said_by(object, leaves)), leaves)
    }
  } else {
    spans <- spans_of(object)
    shown <- if (full) seq_along(object$nodes) else shown_nodes(object, support, MOST_SPLITS)
    leaves_of <- function(place) if (place < 0) -place else spans[place, 1]:spans[place, 2]
    branch <- function(place, head, indent) {
      if (!place %in% shown) return(add(paste0(indent, head, " ", said_by(object, leaves_of(place))), leaves_of(place)))
      add(paste0(indent, head))
      walk(place, "", paste0(indent, "    "))
    }
    walk <- function(place, otherwise, indent) {
      node <- object$nodes[[place]]
      branch(node$true, paste0(otherwise, "if ", literal_text(node$literal), ":"), indent)
      if (node$false %in% shown) walk(node$false, "else ", indent) else branch(node$false, "else:", indent)
    }
    if (object$root < 0) branch(object$root, "always:", "") else walk(object$root, "", "")
  }
  folded <- sum(lengths(groups)[lengths(groups) > 1L])
  if (!folded) return(noted(lines, marks))
  parts <- if (object$kind == "tree") c("leaves", "leaf") else c("rules", "rule")
  c(noted(lines, marks), sprintf("(%s of %s %s are folded; print(model, full = TRUE) shows every %s)", counted(folded, ""),
                                 counted(length(object$predictions), ""), parts[1], parts[2]))
}

MOST_WEIGHTS <- 8L # classes

# The costs of the fit as in Python: weights, if all errors on the rows of a class cost the same.
costs_line <- function(object) {
  costs <- object$costs
  if (is.null(costs)) return(NULL)
  weights <- vapply(seq_len(nrow(costs)), function(k) if (costs[k, k] == 0 && length(unique(costs[k, -k])) == 1L) costs[k, -k][1] else NA_real_, 0)
  if (anyNA(weights)) return("(the fit minimised costs that differ between errors; the file has the costs)")
  named <- sprintf("%s: %s", printable(shown_classes(object)), sprintf("%g", weights))
  sprintf("(weights of errors in the fit, by class: %s%s)", paste(named[seq_len(min(length(named), MOST_WEIGHTS))], collapse = ", "), if (length(named) > MOST_WEIGHTS) ", ..." else "")
}

points_lines <- function(object) {
  table <- points_frame(object)
  if (nrow(table)) table$attribute[duplicated(table$attribute)] <- ""
  margins <- margins_of(object)
  base <- object$base
  if (!is.null(margins)) {
    few <- unlist(lapply(object$parts, function(part) seq_along(part$bins) %in% part$unsupported))
    shown <- ifelse(is.na(margins), "", paste0("+-", margins))
    shown[few, ] <- "too few rows"
    is_single <- ncol(margins) == 1L
    for (k in rev(seq_len(ncol(margins)))) {
      title <- if (is_single) "95 % (noise only)" else paste("+-", names(table)[k + 2L])
      table <- cbind(table[seq_len(k + 2L)], setNames(data.frame(shown[, k], stringsAsFactors = FALSE), title), table[-seq_len(k + 2L)])
      base <- append(base, "", k)
    }
  }
  if (has_rows(object)) {
    texts <- lapply(object$parts, function(part) vapply(seq_along(part$bins), function(k) if (length(part$rows)) rows_text(bin_support(part), k, "") else "", ""))
    table <- cbind(table, data.frame(rows = unlist(texts), stringsAsFactors = FALSE))
    base <- c(base, "")
  }
  base <- as.list(c("base", "", base))
  cells <- rbind(names(table), as.matrix(format_free(table)), unlist(base))
  widths <- apply(nchar(cells, "width"), 2L, max)
  left <- seq_len(ncol(cells)) <= 2L
  apply(cells, 1L, function(row) {
    pad <- strrep(" ", widths - nchar(row, "width"))
    sub(" +$", "", paste(ifelse(left, paste0(row, pad), paste0(pad, row)), collapse = "  "))
  })
}

# Half the width of the 95 % noise interval of points, as in Python; NULL if it is unknown for all points.
margins_of <- function(object) {
  known <- vapply(object$parts, function(part) length(part$errors) > 0L || length(part$unsupported) > 0L, NA)
  if (!any(known)) return(NULL)
  do.call(rbind, lapply(object$parts, function(part) {
    margins <- if (length(part$errors)) ceiling(qnorm(0.975) * part$errors) else part$points + NA
    margins[part$unsupported, ] <- NA
    margins
  }))
}

noise_line <- function(object) {
  if (is.null(margins_of(object))) return(NULL)
  "95 % (noise only): interval expected to contain the result of the same fit without noise; too few rows: points of other bins, or 0"
}

format_free <- function(table) {
  table[] <- lapply(table, as.character)
  table
}

meaning_line <- function(object) {
  unit <- format(object$unit, digits = 4)
  if (object$target$number) {
    return(sprintf("%s = %s + %s for each point, from %s to %s", printable(object$target$name), text_of_number(object$target$low), unit,
                   text_of_number(object$target$low), text_of_number(object$target$high)))
  }
  classes <- printable(shown_classes(object))
  scale <- object$scale
  if (!is.null(scale$pdo)) {
    event <- sprintf("%s = %s", printable(object$target$name), classes[scale$favourable])
    odds <- sprintf("a total of %s means odds of %s to 1 for %s; %s more points double the odds", text_of_number(scale$score),
                    text_of_number(scale$odds), event, text_of_number(scale$pdo))
    return(c(odds, range_line(object)))
  }
  if (length(classes) == 2L) return(sprintf("P(%s = %s) = plogis(%s * total): above 0, %s is predicted", printable(object$target$name), classes[2], unit, classes[2]))
  sprintf("the class with the largest total is predicted; a point adds %s to the log-odds", unit)
}

range_line <- function(object) {
  ends <- object$base + rowSums(vapply(object$parts, function(part) range(part$points), numeric(2)))
  line <- sprintf("totals range from %s to %s", text_of_number(ends[1]), text_of_number(ends[2]))
  rounding <- object$scale$rounding
  if (is.null(rounding) || rounding == 0) return(line)
  odds <- ceiling(1000 * (2^(rounding / object$scale$pdo) - 1)) / 10
  sprintf("%s; rounding changes a total by at most %s points, and the odds by at most %s %%", line,
          text_of_number(ceiling(100 * rounding) / 100), text_of_number(odds))
}

print.hedgerow <- function(x, full = FALSE, ...) {
  scorecard <- function() c(points_lines(x), "", meaning_line(x), noise_line(x))
  cat(if (x$kind == "scorecard") scorecard() else c(leaf_lines(x, full), costs_line(x)), "", guarantee_line(x), sep = "\n")
  invisible(x)
}

guarantee_line <- function(x) {
  privacy <- x$privacy
  if (is.null(privacy$epsilon) || length(privacy$void)) {
    reasons <- vapply(privacy$void, fact_words, "")
    return(sprintf("guarantee: none (%s)", printable(if (length(reasons)) paste(reasons, collapse = "; ") else "no charges")))
  }
  delta <- if (privacy$delta > 0) sprintf(", delta = %s", rounded_up(privacy$delta, 4)) else ""
  sprintf("guarantee: epsilon = %s%s", rounded_up(privacy$epsilon, 6), delta)
}

# A fact of a card as text: its free text, or its code with details.
fact_words <- function(fact) {
  if (identical(fact$code, "text")) return(fact$text)
  details <- fact[setdiff(names(fact), "code")]
  shown <- vapply(details, function(detail) if (is.list(detail)) paste(vapply(detail, detail_words, ""), collapse = ", ") else detail_words(detail), "")
  code <- gsub("_", " ", fact$code)
  if (length(shown)) sprintf("%s (%s)", code, paste(gsub("_", " ", names(shown)), shown, collapse = ", ")) else code
}

detail_words <- function(detail) if (is.list(detail)) fact_words(detail) else as.character(detail)

# An amount rounded up to this number of digits.
rounded_up <- function(x, digits) {
  shown <- signif(x, digits)
  if (shown < x) shown <- shown + 10^(floor(log10(x)) - digits + 1)
  format(shown, digits = digits)
}

as.data.frame.hedgerow <- function(x, row.names = NULL, optional = FALSE, ...) {
  if (x$kind == "scorecard") return(intervals_frame(x))
  found <- data.frame(leaf = seq_along(x$predictions), condition = conditions_of(x), stringsAsFactors = FALSE)
  found$prediction <- if (x$target$number) x$predictions else as_classes(x$predictions, x)
  has_counts <- !vapply(x$counts, is.null, NA)
  if (!x$target$number) {
    shares <- x$probabilities[cbind(seq_along(x$predictions), x$predictions)]
    support <- support_of(x)
    is_shown <- vapply(seq_along(shares), function(i) has_probability(x, support, i), NA)
    found$probability <- ifelse(is_shown, shares, NA)
    if (any(has_counts)) {
      counts <- t(vapply(seq_along(has_counts), function(i) if (has_counts[i]) x$counts[[i]] else rep(NA_real_, ncol(x$probabilities)), numeric(ncol(x$probabilities))))
      colnames(counts) <- paste0("rows(", shown_classes(x), ")")
      found <- cbind(found, as.data.frame(counts, optional = TRUE))
    }
  } else found$rows <- rows_of(x)
  if (!is.null(row.names)) row.names(found) <- row.names
  found
}

# The points, the ends of their intervals if the noise is known, and the released rows, which may be negative.
intervals_frame <- function(x) {
  found <- points_frame(x)
  margins <- margins_of(x)
  if (!is.null(margins)) {
    points <- as.matrix(found[-(1:2)])
    ends <- cbind(points - margins, points + margins)
    colnames(ends) <- c(sub("points", "low", names(found)[-(1:2)]), sub("points", "high", names(found)[-(1:2)]))
    found <- cbind(found, as.data.frame(ends, optional = TRUE))
  }
  if (has_rows(x)) found$rows <- unlist(lapply(x$parts, function(part) if (length(part$rows)) part$rows else NA_real_ * seq_along(part$bins)))
  found
}

has_rows <- function(object) any(lengths(lapply(object$parts, `[[`, "rows")) > 0L)

points_frame <- function(x) {
  titles <- if (length(x$base) == 1L) "points" else paste0("points(", printable(shown_classes(x)), ")")
  each <- lapply(x$parts, function(part) {
    points <- as.data.frame(part$points)
    names(points) <- titles
    cbind(data.frame(attribute = printable(part$attribute), bin = printable(part$bins), stringsAsFactors = FALSE), points)
  })
  if (length(each)) return(do.call(rbind, each))
  cbind(data.frame(attribute = character(), bin = character()), as.data.frame(matrix(0, 0, length(titles), dimnames = list(NULL, titles))))
}

summary.hedgerow <- function(object, ...) {
  used <- used_attributes(object)
  structure(list(
    kind = sub("-", " ", object$kind), label = object$target$name,
    predicts = if (object$target$number) sprintf("a number from %s to %s", text_of_number(object$target$low), text_of_number(object$target$high))
               else paste(printable(shown_classes(object)), collapse = ", "),
    size = if (object$kind == "scorecard") length(object$parts) else length(object$predictions),
    attributes = data.frame(attribute = used, kind = vapply(object$attributes[used], `[[`, "", "kind"), row.names = NULL),
    guarantee = guarantee_line(object)
  ), class = "summary.hedgerow")
}

print.summary.hedgerow <- function(x, ...) {
  parts <- switch(x$kind, "scorecard" = "attribute", "tree" = "leaf", "rule")
  many <- if (x$size == 1L) parts else if (parts == "leaf") "leaves" else paste0(parts, "s")
  cat(sprintf("A %s of %d %s for %s: %s", x$kind, x$size, many, printable(x$label), x$predicts), x$guarantee, "attributes used:", sep = "\n")
  cat(sprintf("  %s (%s)", printable(x$attributes$attribute), x$attributes$kind), sep = "\n")
  invisible(x)
}

card <- function(model) {
  if (!inherits(model, "hedgerow")) stop(sprintf("`model` must be a model from read_model, got an object of class %s.", class(model)[1]), call. = FALSE)
  structure(c(model$privacy, list(digest = model$digest)), class = "hedgerow_card")
}

print.hedgerow_card <- function(x, ...) {
  privacy <- unclass(x)
  cat(strwrap(guarantee_line(list(privacy = privacy)), exdent = 2), sep = "\n")
  line <- function(name, value) if (!is.null(value) && !identical(value, "")) cat(strwrap(paste0(name, ": ", printable(value)), exdent = 2), sep = "\n")
  unit <- privacy$unit
  line("unit", if (is.null(unit)) "one row" else sprintf("all rows of one %s, of which at most %d are used", unit$column, unit$max_rows))
  for (charge in privacy$charges) {
    line("charge", sprintf("%s: epsilon = %s, delta = %s%s", fact_words(charge$query), rounded_up(charge$epsilon, 6), rounded_up(charge$delta, 4),
                           if (is.null(charge$mechanism)) "" else paste0(", ", fact_words(charge$mechanism))))
  }
  line("noise", fact_words(privacy$noise))
  line("software", fact_words(privacy$software))
  for (reason in privacy$void) line("no guarantee", fact_words(reason))
  for (note in privacy$notes) line("note", fact_words(note))
  line("digest", privacy$digest)
  line("note", "R checks the sum of the charges but not the digest; hedgerow in Python checks both")
  invisible(x)
}
