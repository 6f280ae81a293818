# Pictures of models in base graphics.

MOST_DRAWN <- 60L

plot.hedgerow <- function(x, ...) {
  parts <- if (x$kind == "scorecard") sum(vapply(x$parts, function(p) length(p$bins), 1L)) else length(x$predictions)
  if (parts > MOST_DRAWN) stop(sprintf("the model has %d parts, of which at most %d can be drawn; print it.", parts, MOST_DRAWN), call. = FALSE)
  if (x$kind == "scorecard" && parts == 0L) stop("the scorecard has no attributes to be drawn; print it.", call. = FALSE)
  old <- par(no.readonly = TRUE)
  on.exit(par(old))
  switch(x$kind, scorecard = plot_points(x), tree = plot_tree(x), plot_rules(x))
  invisible(x)
}

shades <- function(n) gray.colors(n, 0.35, 0.9)

cut_text <- function(text, width) ifelse(nchar(text, "chars") > width, paste0(substr(text, 1L, width - 1L), "..."), text)

plot_rules <- function(x) {
  n <- length(x$predictions)
  number <- x$target$number
  values <- if (number) matrix(x$predictions - x$target$low, n) else x$probabilities
  high <- if (number) x$target$high - x$target$low else 1
  par(mar = c(4.5, 1, 3, 1))
  plot(NULL, xlim = c(0, high), ylim = c(n + 0.5, 0.2), axes = FALSE, xlab = if (number) printable(x$target$name) else "probability", ylab = "")
  ticks <- pretty(c(0, high) + if (number) x$target$low else 0)
  axis(1, at = ticks - if (number) x$target$low else 0, labels = ticks)
  colors <- shades(ncol(values))
  for (i in seq_len(n)) {
    ends <- c(0, cumsum(values[i, ]))
    rect(ends[-length(ends)], i + 0.05, ends[-1], i + 0.4, col = colors, border = "white")
  }
  note <- notes_of(x)
  said <- sprintf("%d. %s: %s%s", seq_len(n), cut_text(conditions_of(x), 70L), predictions_of(x), ifelse(note == "", "", paste0(" (", note, ")")))
  text(0, seq_len(n) - 0.12, said, adj = c(0, 0.5), cex = 0.85)
  if (!number) legend("topright", legend = printable(shown_classes(x)), fill = colors, horiz = TRUE, bty = "n", cex = 0.85)
  title(main = caption(x), cex.main = 0.9)
}

caption <- function(x) paste0(printable(x$target$name), "; ", cut_text(guarantee_line(x), 80L))

plot_tree <- function(x) {
  across <- numeric(length(x$nodes))
  down <- across
  leaf_down <- numeric(length(x$predictions))
  walk <- function(place, depth) {
    if (place < 0) {
      leaf_down[-place] <<- depth
      return(-place)
    }
    down[place] <<- depth
    both <- c(walk(x$nodes[[place]]$true, depth + 1), walk(x$nodes[[place]]$false, depth + 1))
    across[place] <<- mean(both)
  }
  walk(x$root, 0)
  n <- length(leaf_down)
  par(mar = c(1, 1, 3, 1))
  plot(NULL, xlim = c(0.4, n + 0.6), ylim = c(max(leaf_down) + 0.6, -0.4), axes = FALSE, xlab = "", ylab = "")
  for (i in seq_along(x$nodes)) {
    for (to in c(x$nodes[[i]]$true, x$nodes[[i]]$false)) {
      end <- if (to < 0) c(-to, leaf_down[-to]) else c(across[to], down[to])
      segments(across[i], down[i], end[1], end[2], col = "gray60")
    }
    side <- if (x$nodes[[i]]$true < 0) -x$nodes[[i]]$true else across[x$nodes[[i]]$true]
    text((across[i] + side) / 2, down[i] + 0.45, "yes ", adj = c(1, 0.5), cex = 0.7, col = "gray40")
  }
  level <- if (x$target$number) findInterval(x$predictions, seq(x$target$low, x$target$high, length.out = 6), all.inside = TRUE) else x$predictions
  colors <- shades(if (x$target$number) 5L else length(x$target$values))
  boxed(across, down, vapply(x$nodes, function(node) cut_text(literal_text(node$literal), 30L), ""), "white", min(0.9, 12 / n))
  note <- sub(" of ", "\nof ", notes_of(x))
  boxed(seq_len(n), leaf_down, paste0(cut_text(predictions_of(x), 24L), ifelse(note == "", "", paste0("\n", note))), colors[level], min(0.8, 9 / n))
  title(main = caption(x), cex.main = 0.9)
}

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
    if (!is.null(margins)) { # of bins with too few rows none is drawn
      ends <- rev(margins[, k])
      known <- !is.na(ends)
      segments((rev(points[, k]) - ends)[known], middles[known], (rev(points[, k]) + ends)[known], middles[known])
    }
  }
  title(main = caption(x), cex.main = 0.9, outer = TRUE, line = -1.5)
}
