# Display of the released rows of leaves, by the rules of hedgerow in Python (models/leaf_release.py, models/leaf_groups.py).

MOST_SPLITS <- 30L
MOST_LINES <- 60L
WIDEST_SHARE <- 0.5

# The scale, in rows, of the noise on the numbers of the query `released`: 0 for exact numbers, NA if the card does not
# state the noise.
noise_scale <- function(privacy, released) {
  if (!length(privacy$charges)) return(if (identical(privacy$noise$code, "no_noise")) 0 else NA_real_)
  scales <- lapply(privacy$charges, function(charge) {
    if (!identical(charge$query$code, released)) return(NULL)
    if (!identical(charge$mechanism$code, "discrete_laplace")) return(NA_real_)
    changed <- if (released == "leaf_sums") 1 else as.numeric(charge$mechanism$sensitivity)
    min(changed * (if (is.null(charge$unit)) 1 else charge$unit$max_rows) / charge$epsilon, 2^62)
  })
  scales <- unlist(scales)
  if (length(scales)) max(scales) else NA_real_
}

# The smallest w such that the absolute sum of `number` discrete Laplace variables is at most w with this confidence.
spread_of <- function(scale, number, confidence) {
  if (!number || scale <= 0) return(0)
  points <- 131072
  larger <- max(sqrt(2 * number) * scale / 4096, 1)
  stay <- exp(-larger / scale)
  through <- ((1 - stay)^2 / ((1 - stay)^2 + 4 * stay * sin(pi * (seq_len(points) - 1) / points)^2))^number
  chances <- Re(fft(through))[seq_len(points / 2)] / points
  if (chances[1] >= confidence) return(0)
  inside <- which(chances[1] + 2 * cumsum(chances[-1]) >= confidence)[1]
  if (larger == 1) inside else ceiling(inside * larger)
}

# The released rows of all leaves with their noise; `off` returns the spread of a sum of this number of counts.
support_of <- function(object) {
  has_sums <- length(unlist(object$sums)) > 0
  released <- if (has_sums) object$sums else object$counts
  each <- if (has_sums) length(object$target$values) - 1 else 1  # the contribution of a row to all numbers of its leaf
  scale <- noise_scale(object$privacy, if (has_sums) "leaf_sums" else "leaf_counts")
  rows <- vapply(released, function(own) if (is.null(own)) NA_real_ else round(sum(own) / each), 0)
  with_noise(rows, lengths(released), scale)
}

# The released rows of an attribute's bins, each with noise of the same standard deviation.
bin_support <- function(part) {
  scale <- if (part$rows_error > 0) 1 / (2 * asinh(1 / (sqrt(2) * part$rows_error))) else 0
  with_noise(part$rows, rep(1, length(part$rows)), scale)
}

with_noise <- function(rows, numbers, scale) {
  known <- new.env()
  off <- function(number, confidence = 0.95) {
    key <- paste(number, confidence)
    if (is.null(known[[key]])) known[[key]] <- spread_of(scale, number, confidence)
    known[[key]]
  }
  list(rows = rows, numbers = numbers, scale = scale, off = off)
}

are_too_few <- function(support, leaves) {
  rows <- support$rows[leaves]
  if (is.na(support$scale) || anyNA(rows)) return(FALSE)
  sum(rows) <= support$off(sum(support$numbers[leaves]))
}

# Whether these leaves may be empty, each and together, although the whole model is not.
may_fold <- function(support, leaves) {
  none <- function(chosen) are_too_few(support, chosen) && all(vapply(chosen, function(i) are_too_few(support, i), NA))
  none(leaves) && !none(seq_along(support$rows))
}

counted <- function(number, unit) {
  text <- format(number, big.mark = ",", scientific = FALSE, trim = TRUE)
  if (unit == "") text else paste0(text, " ", unit, if (number == 1) "" else "s")
}

rows_text <- function(support, leaves, unit = "row") {
  rows <- sum(support$rows[leaves])
  if (is.na(support$scale)) return(paste(counted(rows, unit), "(noise unknown)"))
  off <- support$off(sum(support$numbers[leaves]))
  if (off == 0) return(counted(max(rows, 0), unit))
  place <- 10^(nchar(format(off, scientific = FALSE)) - 1)
  if (rows > off) return(paste("about", counted(place * round(rows / place), unit)))
  most <- place * ceiling(max(rows + off, 0) / place)
  if (most > 0) paste("at most", counted(most, unit)) else if (unit == "") "0" else "probably no rows"
}

# Whether the probability of the predicted class is shown: it was drawn, or the counts have known noise and are not
# within it.
has_probability <- function(object, support, i) {
  if (is.na(support$rows[i])) return(object$drawn[i])
  !is.na(support$scale) && !are_too_few(support, i)
}

# The share of the predicted class by the counts, or the drawn probability without counts, as text; empty if the noise
# hides it.
share_text <- function(object, support, i) {
  counts <- object$counts[[i]]
  place <- object$predictions[i]
  if (!has_probability(object, support, i)) return("")
  if (is.null(counts)) return(sprintf("%.3g %%", 100 * max(object$probabilities[i, ])))
  if (support$scale == 0) return(sprintf("%.1f %%", 100 * counts[place] / max(sum(counts), 1)))
  own <- support$off(1, 0.975)
  others <- support$off(length(counts) - 1, 0.975)
  low <- max(counts[place] - own, 0)
  high <- max(counts[place] + own, 0)
  least <- max(sum(counts) - counts[place] - others, 0)
  most <- max(sum(counts) - counts[place] + others, 0)
  ends <- c(low / max(low + most, 1), if (high + least > 0) high / (high + least) else 0)
  if (ends[2] - ends[1] >= WIDEST_SHARE) return("")
  ends <- c(floor(100 * ends[1]), ceiling(100 * ends[2]))
  if (ends[1] == ends[2]) sprintf("%.0f %%", ends[2]) else sprintf("%.0f to %.0f %%", ends[1], ends[2])
}

# The note on leaves that share a line: their rows and share as text, and the number of folded leaves.
note_of <- function(object, support, leaves) {
  known <- !anyNA(support$rows[leaves])
  words <- if (known) rows_text(support, leaves) else ""
  unclear <- known && startsWith(words, "at most")
  if (length(leaves) == 1L) {
    share <- if (object$target$number) "" else share_text(object, support, leaves)
    if (share != "") return(if (known) paste(share, "of", rows_text(support, leaves, "")) else share)
    return(if (unclear) paste0(words, ", possibly none") else words)
  }
  parts <- if (object$kind == "tree") "leaves" else "rules"
  head <- paste0(counted(length(leaves), ""), " ", parts, if (may_fold(support, leaves)) "" else " not shown")
  if (!known) head else paste0(head, ", together ", words, if (unclear) ", possibly none" else "")
}

# The predictions of leaves as text: the first classes, or the range of numbers.
said_by <- function(object, leaves) {
  values <- object$predictions[leaves]
  if (object$target$number) {
    digits <- max(3 - ceiling(log10(object$target$high - object$target$low)), 0)
    ends <- vapply(range(values), function(x) text_of_number(if (x %in% object$target$values) x else round(x, digits)), "")
    return(paste(unique(ends), collapse = " to "))
  }
  names <- printable(shown_classes(object)[sort(unique(values))])
  if (length(names) > 4L) names <- c(names[1:3], paste(length(names) - 3L, "more classes"))
  last <- length(names)
  if (last == 1L) names else paste(paste(names[-last], collapse = ", "), "or", names[last])
}

# The first and last leaf below each node of a tree.
spans_of <- function(object) {
  spans <- matrix(0, length(object$nodes), 2L)
  walk <- function(place) {
    if (place < 0) return(c(-place, -place))
    ends <- c(walk(object$nodes[[place]]$true)[1], walk(object$nodes[[place]]$false)[2])
    spans[place, ] <<- ends
    ends
  }
  walk(object$root)
  spans
}

# The displayed nodes of a tree, chosen level by level in descending order of released rows, then of leaves.
shown_nodes <- function(object, support, most) {
  spans <- spans_of(object)
  shown <- integer()
  level <- object$root
  while (length(level <- level[level > 0])) {
    below <- integer()
    rows <- vapply(level, function(place) sum(support$rows[spans[place, 1]:spans[place, 2]]), 0)
    rows[is.na(rows)] <- 0
    for (place in level[order(-rows, spans[level, 1] - spans[level, 2])]) {
      if (may_fold(support, spans[place, 1]:spans[place, 2])) next
      if (length(shown) == most) return(shown)
      shown <- c(shown, place)
      below <- c(below, object$nodes[[place]]$true, object$nodes[[place]]$false)
    }
    level <- below
  }
  shown
}

# The groups of rules that share a line: runs of rules that may have no rows, and rules that do not fit a page.
rule_groups <- function(object, support, most) {
  last <- length(object$predictions)
  groups <- list()
  for (place in seq_len(last - 1L)) {
    before <- length(groups)
    run <- if (before) c(groups[[before]], place) else place
    if (before && may_fold(support, run)) groups[[before]] <- run else groups[[before + 1L]] <- place
  }
  if (length(groups) >= most) groups <- c(groups[seq_len(most - 2L)], list(seq(groups[[most - 1L]][1], last - 1L)))
  c(groups, list(last))
}
