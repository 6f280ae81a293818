# Plots of models in base graphics.

MOST_DRAWN <- 60L # bins of a scorecard
MOST_BOXES <- 12L # leaves of a tree
MOST_BARS <- 20L # rules

plot.hedgerow <- function(x, ...) {
  if (x$kind == "scorecard") {
    parts <- sum(vapply(x$parts, function(p) length(p$bins), 1L))
    if (parts > MOST_DRAWN) stop(sprintf("at most %d bins can be drawn, but the scorecard has %d; print it.", MOST_DRAWN, parts), call. = FALSE)
    if (parts == 0L) stop("the scorecard has no attributes to draw; print it.", call. = FALSE)
  }
  old <- par(no.readonly = TRUE)
  on.exit(par(old))
  switch(x$kind, scorecard = plot_points(x), tree = plot_tree(x), plot_rules(x))
  invisible(x)
}

shades <- function(n) gray.colors(n, 0.35, 0.9)

cut_text <- function(text, width) ifelse(nchar(text, "chars") > width, paste0(substr(text, 1L, width - 1L), "..."), text)

# The start and end of the bars of rules that share a line; no bars if the noise hides the share.
bar_ends <- function(x, support, leaves) {
  if (x$target$number) return(range(x$predictions[leaves]) - x$target$low)
  if (length(leaves) > 1L) return(numeric())
  is_shown <- is.na(support$rows[leaves]) || share_text(x, support, leaves) != ""
  if (is_shown) cumsum(x$probabilities[leaves, ]) else numeric()
}

plot_rules <- function(x) {
  support <- support_of(x)
  groups <- rule_groups(x, support, MOST_BARS)
  n <- length(groups)
  number <- x$target$number
  high <- if (number) x$target$high - x$target$low else 1
  par(mar = c(4.5, 1, 3, 1))
  plot(NULL, xlim = c(0, high), ylim = c(n + 0.5, 0.2), axes = FALSE, xlab = if (number) printable(x$target$name) else "probability", ylab = "")
  ticks <- pretty(c(0, high) + if (number) x$target$low else 0)
  axis(1, at = ticks - if (number) x$target$low else 0, labels = ticks)
  colors <- shades(if (number) 2L else ncol(x$probabilities))
  conditions <- conditions_of(x)
  for (i in seq_len(n)) {
    ends <- bar_ends(x, support, groups[[i]])
    if (length(ends)) rect(c(0, ends[-length(ends)]), i + 0.05, ends, i + 0.4, col = colors, border = "white")
    leaves <- groups[[i]]
    name <- if (length(leaves) > 1L) sprintf("%d-%d. any of these rules", leaves[1], max(leaves)) else paste0(leaves, ". ", cut_text(conditions[leaves], 70L))
    note <- note_of(x, support, leaves)
    text(0, i - 0.2, paste0(name, ": ", said_by(x, leaves), if (note == "") "" else paste0(" (", note, ")")), adj = c(0, 0.5), cex = 0.85)
  }
  if (!number) legend("topright", legend = printable(shown_classes(x)), fill = colors, horiz = TRUE, bty = "n", cex = 0.85)
  title(main = caption(x, groups), cex.main = 0.9)
}

caption <- function(x, groups = list()) {
  folded <- sum(lengths(groups)[lengths(groups) > 1L])
  more <- if (folded) sprintf("\n%d of %d are folded; print(model, full = TRUE) shows all", folded, length(x$predictions)) else ""
  paste0(printable(x$target$name), "; ", cut_text(guarantee_line(x), 80L), more)
}

plot_tree <- function(x) {
  support <- support_of(x)
  spans <- spans_of(x)
  shown <- shown_nodes(x, support, MOST_BOXES - 1L)
  groups <- list()
  tests <- ends <- lines <- NULL
  walk <- function(place, depth) {
    if (!place %in% shown) {
      groups <<- c(groups, list(if (place < 0) -place else spans[place, 1]:spans[place, 2]))
      at <- c(length(groups), depth)
      ends <<- rbind(ends, at)
      return(at)
    }
    true <- walk(x$nodes[[place]]$true, depth + 1)
    false <- walk(x$nodes[[place]]$false, depth + 1)
    at <- c((true[1] + false[1]) / 2, depth)
    lines <<- rbind(lines, c(at, true, 1), c(at, false, 0))
    tests <<- rbind(tests, c(at, place))
    at
  }
  walk(x$root, 0)
  n <- length(groups)
  par(mar = c(1, 1, 3, 1))
  plot(NULL, xlim = c(0.4, n + 0.6), ylim = c(max(ends[, 2]) + 0.6, -0.4), axes = FALSE, xlab = "", ylab = "")
  if (length(lines)) {
    segments(lines[, 1], lines[, 2], lines[, 3], lines[, 4], col = "gray60")
    left <- lines[lines[, 5] == 1, , drop = FALSE]
    text((left[, 1] + left[, 3]) / 2, left[, 2] + 0.45, "yes ", adj = c(1, 0.5), cex = 0.7, col = "gray40")
    literals <- vapply(tests[, 3], function(place) cut_text(literal_text(x$nodes[[place]]$literal), 30L), "")
    boxed(tests[, 1], tests[, 2], literals, "white", fitting(literals, 1.8))
  }
  levels <- if (x$target$number) findInterval(x$predictions, seq(x$target$low, x$target$high, length.out = 6), all.inside = TRUE) else x$predictions
  colors <- shades(if (x$target$number) 5L else length(x$target$values))
  fill <- vapply(groups, function(leaves) if (length(unique(levels[leaves])) > 1L) "white" else colors[levels[leaves[1]]], "")
  words <- vapply(groups, function(leaves) {
    paste(c(strwrap(cut_text(said_by(x, leaves), 40L), 14L), strwrap(note_of(x, support, leaves), 14L)), collapse = "\n")
  }, "")
  boxed(ends[, 1], ends[, 2], words, fill, fitting(words, 0.95))
  title(main = caption(x, groups), cex.main = 0.9)
}

# The text size at which all words are at most this number of leaves wide.
fitting <- function(words, widest) min(0.9, widest / (max(strwidth(words)) + strwidth("m")))

boxed <- function(x, y, words, fill, cex) {
  if (!length(x)) return(invisible())
  lines <- lengths(strsplit(words, "\n", fixed = TRUE))
  wide <- strwidth(words, cex = cex) / 2 + strwidth("m", cex = cex) / 2
  tall <- abs(strheight("M", cex = cex)) * (lines * 0.9 + 0.5)
  rect(x - wide, y - tall, x + wide, y + tall, col = fill, border = "gray40")
  dark <- col2rgb(rep_len(fill, length(x)))[1, ] < 120
  text(x, y, words, cex = cex, col = ifelse(dark, "white", "black"))
}

plot_points <- function(x) {
  width <- length(x$base)
  par(mfrow = c(1, width), mar = c(4.5, 12, 3, 1))
  labels <- unlist(lapply(x$parts, function(p) paste0(cut_text(printable(p$attribute), 16L), " ", cut_text(printable(p$bins), 22L))))
  points <- do.call(rbind, lapply(x$parts, `[[`, "points"))
  margins <- margins_of(x)
  reach <- if (is.null(margins)) 0 else range(points - margins, points + margins, na.rm = TRUE)
  gap <- unlist(lapply(x$parts, function(p) c(0.8, rep(0.15, length(p$bins) - 1L))))
  for (k in seq_len(width)) {
    what <- if (width == 1L) "points" else paste("points for", printable(shown_classes(x)[k]))
    middles <- barplot(rev(points[, k]), horiz = TRUE, names.arg = rev(labels), las = 1, xlim = range(0, points, reach) * 1.04, space = rev(c(gap[-1], 0.2)), border = NA, cex.names = 0.75, xlab = what, col = "gray45")
    abline(v = 0, col = "gray40")
    if (!is.null(margins)) { # bins with too few rows have no interval
      ends <- rev(margins[, k])
      known <- !is.na(ends)
      segments((rev(points[, k]) - ends)[known], middles[known], (rev(points[, k]) + ends)[known], middles[known])
    }
  }
  title(main = caption(x), cex.main = 0.9, outer = TRUE, line = -1.5)
}
