# Predictions, which agree with the Python package.

predict.hedgerow <- function(object, newdata, type = NULL, ...) {
  if (...length()) stop("`predict` for a hedgerow model has only the arguments `newdata` and `type`.", call. = FALSE)
  number <- object$target$number
  kinds <- c(if (number) "response" else c("class", "prob"), if (object$kind == "scorecard") "points" else "leaf")
  if (is.null(type)) type <- kinds[1]
  if (!is.character(type) || length(type) != 1L || !type %in% kinds) {
    stop(sprintf("`type` must be one of %s for this %s.", paste(dQuote(kinds, FALSE), collapse = ", "), sub("-", " ", object$kind)), call. = FALSE)
  }
  cells <- cells_of_all(object, newdata)
  rows <- nrow(as_frame(newdata))
  if (object$kind == "scorecard") return(of_totals(object, totals_of(object, cells, rows), type))
  leaf <- if (object$kind == "tree") leaves_reached(object, cells, rows) else rules_reached(object, cells, rows)
  switch(type,
    leaf = leaf,
    response = object$predictions[leaf],
    prob = named_shares(object$probabilities[leaf, , drop = FALSE], object),
    as_classes(object$predictions[leaf], object)
  )
}

as_frame <- function(newdata) {
  if (is.matrix(newdata) && is.null(colnames(newdata))) stop("`newdata` must be a data frame, or a matrix with column names.", call. = FALSE)
  if (is.matrix(newdata)) as.data.frame(newdata, stringsAsFactors = FALSE, optional = TRUE)
  else if (is.data.frame(newdata)) newdata
  else stop("`newdata` must be a data frame, or a matrix with column names.", call. = FALSE)
}

used_attributes <- function(object) {
  used <- switch(object$kind,
    scorecard = vapply(object$parts, `[[`, "", "attribute"),
    tree = vapply(object$nodes, function(node) node$literal$attribute, ""),
    unlist(lapply(object$rules, function(rule) vapply(rule, `[[`, "", "attribute")))
  )
  names(object$attributes)[names(object$attributes) %in% used]
}

cells_of_all <- function(object, newdata) {
  newdata <- as_frame(newdata)
  used <- object$attributes[used_attributes(object)]
  derived <- names(used)[!vapply(used, function(a) is.null(a$derived), NA)]
  needed <- unique(unlist(lapply(used, function(a) if (is.null(a$derived)) a$name else a$derived$columns)))
  absent <- setdiff(needed, names(newdata))
  if (length(absent)) stop(sprintf("`newdata` does not have the columns %s.", paste(absent, collapse = ", ")), call. = FALSE)
  if (anyDuplicated(names(newdata)[names(newdata) %in% needed])) stop("`newdata` has a column that the model uses more than once.", call. = FALSE)
  if (any(derived %in% names(newdata))) {
    stop(sprintf("the columns %s are derived from other columns; remove them from `newdata`.", paste(intersect(derived, names(newdata)), collapse = ", ")), call. = FALSE)
  }
  lapply(used, cells_of, newdata)
}

holds <- function(literal, cells) {
  x <- cells[[literal$attribute]]
  ok <- !x$missing & !x$outside
  at <- if (is.null(literal$numbers)) literal$places else literal$numbers
  truth <- switch(literal$operator,
    missing = return(x$missing),
    known = return(!x$missing),
    outside = return(x$outside),
    "!=" = return(x$outside | (ok & !(x$values %in% at))),
    "=" = x$values == at,
    "<=" = x$values <= at,
    ">" = x$values > at,
    between = x$values > at[1] & x$values <= at[2],
    true = x$values == 2L,
    false = x$values == 1L
  )
  ok & (truth %in% TRUE)
}

rules_reached <- function(object, cells, rows) {
  found <- rep(length(object$rules), rows)
  open <- rep(TRUE, rows)
  for (i in seq_len(length(object$rules) - 1L)) {
    if (!any(open)) break
    hit <- open & Reduce(`&`, lapply(object$rules[[i]], holds, cells))
    found[hit] <- i
    open <- open & !hit
  }
  found
}

leaves_reached <- function(object, cells, rows) {
  place <- rep(as.integer(object$root), rows)
  for (i in seq_along(object$nodes)) { # a node precedes the nodes below it
    at <- which(place == i)
    if (length(at)) {
      node <- object$nodes[[i]]
      place[at] <- ifelse(holds(node$literal, cells)[at], node$true, node$false)
    }
  }
  -place
}

totals_of <- function(object, cells, rows) {
  found <- matrix(object$base, rows, length(object$base), byrow = TRUE)
  for (part in object$parts) {
    x <- cells[[part$attribute]]
    bin <- if (is.null(part$cuts)) x$values else findInterval(x$values, part$cuts, left.open = TRUE) + 1L
    last <- length(part$bins)
    outside <- object$attributes[[part$attribute]]$outside == "bin"
    bin[x$missing] <- last - outside
    bin[x$outside] <- last
    found <- found + part$points[bin, , drop = FALSE]
  }
  found
}

of_totals <- function(object, totals, type) {
  is_single <- ncol(totals) == 1L
  if (type == "points") {
    if (!is_single) colnames(totals) <- object$target$values
    return(if (is_single) totals[, 1] else totals)
  }
  if (type == "response") return(value_of_total(object, totals[, 1]))
  scale <- object$scale
  if (type == "class") {
    places <- if (is_single) (scale$sign * (totals[, 1] - scale$limit) > 0) + 1L else max.col(totals, ties.method = "first")
    return(as_classes(places, object))
  }
  odds <- if (is_single) scale$sign * object$unit * (totals - scale$even) else object$unit * totals
  if (is_single) return(named_shares(cbind(plogis(-odds[, 1]), plogis(odds[, 1])), object))
  powers <- exp(odds - odds[cbind(seq_len(nrow(odds)), max.col(odds, ties.method = "first"))])
  named_shares(powers / rowSums(powers), object)
}

value_of_total <- function(object, total) pmin(object$target$low + object$unit * pmax(total, 0), object$target$high)

as_classes <- function(places, object) {
  factor(shown_classes(object)[places], levels = shown_classes(object), ordered = object$target$ordered)
}

shown_classes <- function(object) {
  if (object$target$type == "boolean") toupper(object$target$values) else object$target$values
}

named_shares <- function(shares, object) {
  dimnames(shares) <- list(NULL, shown_classes(object))
  shares
}
