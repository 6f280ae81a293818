(* One draw from all models: fact 3 of docs/mathematics.md, and its sections on rounding
   (src/hedgerow/privacy/exponential_mechanism.py). *)

From Coq Require Import Reals List Lra Lia ZArith.
From Hedgerow Require Import Constants Sums Tables.
Import ListNotations.
Open Scope R_scope.

Section Draw.
Context {Row Model : Type}.
Variables (models : list Model) (prior : Model -> R) (loss : table Row -> Model -> R) (w : R).

Definition weight (D : table Row) (m : Model) : R := prior m * exp (- w * loss D m).
Definition normaliser (D : table Row) : R := sum (weight D) models.
Definition draw (D : table Row) (m : Model) : R := weight D m / normaliser D.

Hypothesis prior_is_one : is_distribution models prior.
Hypothesis w_nonneg : 0 <= w.

Lemma weight_nonneg D m : 0 <= weight D m.
Proof. apply Rmult_le_pos; [apply prior_is_one | left; apply exp_pos]. Qed.

Lemma normaliser_positive D : 0 < normaliser D.
Proof.
  destruct prior_is_one as [nonneg total_one]. unfold normaliser.
  assert (forall l, 0 < sum prior l -> 0 < sum (weight D) l) as H; [|apply H; lra].
  induction l as [|m l IH]; simpl; [lra|]. intros Hs. specialize (nonneg m). destruct nonneg as [some|none].
  - assert (0 < weight D m) by (apply Rmult_lt_0_compat; [auto | apply exp_pos]).
    assert (0 <= sum (weight D) l) by (apply sum_nonneg; intros; apply weight_nonneg). lra.
  - pose proof (weight_nonneg D m). rewrite <- none in Hs. lra.
Qed.

Theorem draw_is_distribution D : is_distribution models (draw D).
Proof.
  pose proof (normaliser_positive D) as pos. split; unfold draw.
  - intros m. apply Rmult_le_pos; [apply weight_nonneg | left; apply Rinv_0_lt_compat; auto].
  - unfold Rdiv. rewrite sum_scale_right. apply Rinv_r. lra.
Qed.

(* A row multiplies every weight, and so the normaliser, by between exp (- w * s) and 1. *)
Lemma weights_fall s x D E m : monotone s loss -> adds x D E ->
  exp (- w * s) * weight D m <= weight E m <= weight D m.
Proof.
  intros mono add. destruct (mono x D E m add) as [up most]. unfold weight. destruct prior_is_one as [nonneg _].
  split.
  - replace (exp (- w * s) * (prior m * exp (- w * loss D m))) with (prior m * exp (- w * (loss D m + s)))
      by (replace (- w * (loss D m + s)) with (- w * s + - w * loss D m) by lra; rewrite exp_plus; lra).
    apply Rmult_le_compat_l; [apply nonneg|]. apply exp_le. nra.
  - apply Rmult_le_compat_l; [apply nonneg|]. apply exp_le. nra.
Qed.

Lemma normaliser_falls s x D E : monotone s loss -> adds x D E ->
  exp (- w * s) * normaliser D <= normaliser E <= normaliser D.
Proof.
  intros mono add. unfold normaliser. rewrite <- sum_scale.
  split; apply sum_le; intros m _; apply (weights_fall s x D E m mono add).
Qed.

Lemma quotient_le a b c d e : 0 < b -> 0 < d -> a <= e * c -> 0 <= c -> 0 <= e -> d <= b -> a / b <= e * (c / d).
Proof.
  intros Hb Hd Ha Hc He Hdb. apply Rle_trans with (e * c / b).
  - apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat|]; auto.
  - unfold Rdiv. rewrite Rmult_assoc. apply Rmult_le_compat_l; auto. apply Rmult_le_compat_l; auto.
    apply Rinv_le_contravar; auto.
Qed.

Lemma quotient_le' a b c d e : 0 < b -> 0 < d -> a <= c -> 0 <= c -> 0 <= e -> d <= e * b -> a / b <= e * (c / d).
Proof.
  intros Hb Hd Ha Hc He Hdb. apply Rle_trans with (c / b).
  - apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat|]; auto.
  - unfold Rdiv. replace (e * (c * / d)) with (c * (e * / d)) by lra. apply Rmult_le_compat_l; auto.
    apply Rmult_le_reg_r with (b * d); [apply Rmult_lt_0_compat; auto|].
    replace (/ b * (b * d)) with d by (field; lra). replace (e * / d * (b * d)) with (e * b) by (field; lra). auto.
Qed.

Lemma draw_private_of s : monotone s loss -> private (w * s) draw.
Proof.
  intros mono x D E add m.
  destruct (weights_fall s x D E m mono add) as [less more].
  destruct (normaliser_falls s x D E mono add) as [nless nmore].
  pose proof (exp_pos (w * s)) as pos. pose proof (exp_undo (w * s)) as undo.
  pose proof (normaliser_positive D). pose proof (normaliser_positive E).
  pose proof (weight_nonneg D m). pose proof (weight_nonneg E m).
  replace (- w * s) with (- (w * s)) in * by lra.
  assert (weight D m <= exp (w * s) * weight E m).
  { replace (weight D m) with (exp (w * s) * (exp (- (w * s)) * weight D m)) by (rewrite <- Rmult_assoc, undo; lra).
    apply Rmult_le_compat_l; lra. }
  assert (normaliser D <= exp (w * s) * normaliser E).
  { replace (normaliser D) with (exp (w * s) * (exp (- (w * s)) * normaliser D))
      by (rewrite <- Rmult_assoc, undo; lra).
    apply Rmult_le_compat_l; lra. }
  unfold draw. split; [apply quotient_le | apply quotient_le']; auto; lra.
Qed.

(* Fact 3: the draw with weight w is w-private, without the factor 2 of scores of no fixed direction. *)
Theorem draw_private : monotone (IZR draw_sensitivity) loss -> private w draw.
Proof.
  intros mono. replace w with (w * IZR draw_sensitivity) by (unfold draw_sensitivity; lra). now apply draw_private_of.
Qed.

(* On neighbours, the log-ratios of all models that can be drawn lie in an interval of length w (bounded range). *)
Theorem draw_log_ratios : monotone (IZR draw_sensitivity) loss -> forall x D E, adds x D E ->
  exists low, forall m, 0 < prior m -> low <= ln (draw E m / draw D m) <= low + w.
Proof.
  unfold draw_sensitivity. intros mono x D E add.
  pose proof (normaliser_positive D). pose proof (normaliser_positive E).
  exists (ln (normaliser D / normaliser E) - w). intros m pos.
  replace (draw E m / draw D m) with (exp (- w * (loss E m - loss D m)) * (normaliser D / normaliser E)).
  - rewrite ln_mult, ln_exp; [|apply exp_pos | now apply Rdiv_lt_0_compat].
    destruct (mono x D E m add). nra.
  - unfold draw, weight. replace (- w * loss E m) with (- w * (loss E m - loss D m) + - w * loss D m) by lra.
    rewrite exp_plus. pose proof (exp_pos (- w * loss D m)). field. repeat split; lra.
Qed.

End Draw.

(* A size drawn first, each with the same chance beforehand, in proportion to the normalisers of the models of each
   size; then a model of that size (learn/search/sampler.py: Draw.draws_size). *)

Section Sizes.
Context {Row Model : Type}.
Variables (sizes : list nat) (models : nat -> list Model) (prior : nat -> Model -> R).
Variables (loss : table Row -> Model -> R) (w : R).
Hypothesis some_sizes : sizes <> [].
Hypothesis priors : forall d, is_distribution (models d) (prior d).
Hypothesis w_nonneg : 0 <= w.

Definition of_size (d : nat) (D : table Row) : R := normaliser (models d) (prior d) loss w D.
Definition all_sizes (D : table Row) : R := sum (fun d => of_size d D) sizes.
Definition sized_draw (D : table Row) (m : Model) : R :=
  sum (fun d => of_size d D / all_sizes D * draw (models d) (prior d) loss w D m) sizes.

Definition n_sizes : R := INR (length sizes).
Definition pairs : list (nat * Model) := flat_map (fun d => map (pair d) (models d)) sizes.
Definition pair_prior (dm : nat * Model) : R := prior (fst dm) (snd dm) / n_sizes.
Definition pair_loss (D : table Row) (dm : nat * Model) : R := loss D (snd dm).

Lemma n_sizes_positive : 0 < n_sizes.
Proof. apply lt_0_INR. destruct sizes; [congruence | simpl; lia]. Qed.

Lemma of_size_positive d D : 0 < of_size d D.
Proof. apply normaliser_positive; auto. Qed.

Lemma all_sizes_positive D : 0 < all_sizes D.
Proof. apply sum_positive; auto using of_size_positive. Qed.

Lemma pair_prior_is_distribution : is_distribution pairs pair_prior.
Proof.
  pose proof n_sizes_positive as np. split.
  - intros dm. apply Rmult_le_pos; [apply priors | left; now apply Rinv_0_lt_compat].
  - unfold pairs, pair_prior, Rdiv. rewrite sum_scale_right, sum_flat_map.
    rewrite (sum_ext _ (fun _ => 1)); [rewrite sum_constant; fold n_sizes; field; lra|].
    intros d _. rewrite sum_map. simpl. apply priors.
Qed.

Lemma pair_normaliser D : normaliser pairs pair_prior pair_loss w D = all_sizes D / n_sizes.
Proof.
  unfold normaliser, pairs, all_sizes, Rdiv. rewrite sum_flat_map, <- sum_scale_right.
  apply sum_ext. intros d _. rewrite sum_map. unfold of_size, normaliser. rewrite <- sum_scale_right.
  apply sum_ext. intros m _. unfold weight, pair_prior, pair_loss. simpl. unfold Rdiv. ring.
Qed.

(* It is the exponential mechanism for the mean of the priors. *)
Theorem sized_draw_weighs D m : sized_draw D m =
  sum (fun d => prior d m) sizes / n_sizes * exp (- w * loss D m) / (all_sizes D / n_sizes).
Proof.
  pose proof n_sizes_positive. pose proof (all_sizes_positive D). unfold sized_draw.
  rewrite (sum_ext _ (fun d => prior d m * (exp (- w * loss D m) / all_sizes D))).
  - rewrite sum_scale_right. field. lra.
  - intros d _. unfold draw, weight. fold (of_size d D). pose proof (of_size_positive d D). field. lra.
Qed.

Theorem sized_draw_private : monotone (IZR draw_sensitivity) loss -> private w sized_draw.
Proof.
  intros mono. assert (private w (draw pairs pair_prior pair_loss w)) as H.
  { apply draw_private; auto using pair_prior_is_distribution. intros x D E dm add. now apply (mono x). }
  assert (forall D m, sized_draw D m = sum (draw pairs pair_prior pair_loss w D) (map (fun d => (d, m)) sizes)) as W.
  { intros D m. rewrite sum_map. unfold sized_draw. apply sum_ext. intros d _.
    unfold draw. rewrite pair_normaliser. fold (of_size d D). unfold weight, pair_prior, pair_loss. simpl.
    pose proof (of_size_positive d D). pose proof (all_sizes_positive D). pose proof n_sizes_positive. field. lra. }
  intros x D E add m. rewrite !W. now apply (private_on_sets w _ H x).
Qed.

End Sizes.

(* What rounding adds. The code draws each choice exactly for log-weights that are off by at most a. *)

Definition within {A} (a : R) (P Q : A -> R) : Prop := forall o, exp (- a) * P o <= Q o <= exp a * P o.

Section Rounding.
Context {Row Model Option : Type}.

(* Of one choice among options: its log-probability is off by 2a. *)
Theorem rounded_choice a (options : list Option) (W V : Option -> R) :
  (forall o, 0 < W o) -> options <> [] -> within a W V ->
  within (2 * a) (fun o => W o / sum W options) (fun o => V o / sum V options).
Proof.
  intros pos some near o.
  assert (forall o, 0 < V o) as pos'.
  { intros p. destruct (near p) as [low _]. eapply Rlt_le_trans; [|apply low]. apply Rmult_lt_0_compat; auto.
      apply exp_pos. }
  assert (0 < sum W options) as sw by (apply sum_positive; auto).
  assert (0 < sum V options) as sv by (apply sum_positive; auto).
  assert (exp (- a) * sum W options <= sum V options <= exp a * sum W options) as [slow shigh].
  { rewrite <- !sum_scale. split; apply sum_le; intros p _; apply near. }
  destruct (near o) as [low high]. pose proof (exp_pos a). pose proof (exp_pos (- a)).
  assert (0 < / (sum W options) /\ 0 < / (sum V options)) as [iw iv] by (split; apply Rinv_0_lt_compat; auto).
  assert (exp (- a) * / sum W options <= / sum V options) as ilow.
  { apply Rmult_le_reg_r with (sum W options * sum V options); [nra|].
    replace (exp (- a) * / sum W options * (sum W options * sum V options))
      with (exp (- a) * sum V options) by (field; lra).
    replace (/ sum V options * (sum W options * sum V options)) with (sum W options) by (field; lra).
    pose proof (exp_undo a). nra. }
  assert (/ sum V options <= exp a * / sum W options) as ihigh.
  { apply Rmult_le_reg_r with (sum W options * sum V options); [nra|].
    replace (exp a * / sum W options * (sum W options * sum V options)) with (exp a * sum V options) by (field; lra).
    replace (/ sum V options * (sum W options * sum V options)) with (sum W options) by (field; lra).
    pose proof (exp_undo a). nra. }
  specialize (pos o). specialize (pos' o).
  replace (- (2 * a)) with (- a + - a) by lra. replace (2 * a)
    with (a + a) by lra. rewrite !exp_plus. unfold Rdiv. split.
  - replace (exp (- a) * exp (- a) * (W o * / sum W options))
      with ((exp (- a) * W o) * (exp (- a) * / sum W options)) by lra.
    apply Rmult_le_compat; auto; nra.
  - replace (exp a * exp a * (W o * / sum W options)) with ((exp a * W o) * (exp a * / sum W options)) by lra.
    apply Rmult_le_compat; auto; lra.
Qed.

(* Of choices one after the other, each with its own error: errors of log-probabilities add up. *)
Theorem rounded_choices {Choice} (error : Choice -> R) (P Q : Choice -> R) (choices : list Choice) :
  (forall c, 0 <= P c) -> (forall c, exp (- error c) * P c <= Q c <= exp (error c) * P c) ->
  exp (- sum error choices) * product P choices <= product Q choices <= exp (sum error choices) * product P choices.
Proof.
  intros nonneg near. induction choices as [|c l [low high]]; simpl.
  - rewrite Ropp_0, exp_0. lra.
  - rewrite Ropp_plus_distr, !exp_plus. destruct (near c) as [l1 h1]. specialize (nonneg c) as pc.
    assert (0 <= product P l) as pl by (apply product_nonneg; auto).
    pose proof (exp_pos (- error c)). pose proof (exp_pos (- sum error l)). pose proof (exp_pos (error c)).
    assert (0 <= product Q l) by (eapply Rle_trans; [|apply low]; apply Rmult_le_pos; lra).
    assert (0 <= Q c) by (eapply Rle_trans; [|apply l1]; apply Rmult_le_pos; lra). split.
    + replace (exp (- error c) * exp (- sum error l) * (P c * product P l))
        with ((exp (- error c) * P c) * (exp (- sum error l) * product P l)) by lra.
      apply Rmult_le_compat; auto; apply Rmult_le_pos; lra.
    + replace (exp (error c) * exp (sum error l) * (P c * product P l))
        with ((exp (error c) * P c) * (exp (sum error l) * product P l)) by lra.
      apply Rmult_le_compat; auto.
Qed.

(* Of two tables: what is drawn costs twice the error of a log-probability more. *)
Theorem rounded_private epsilon b (P Q : table Row -> Model -> R) :
  (forall D, within b (P D) (Q D)) -> private epsilon P -> private (epsilon + 2 * b) Q.
Proof.
  intros near priv. assert (forall D E m, P D m <= exp epsilon * P E m -> Q D m <= exp (epsilon + 2 * b) * Q E m) as H.
  { intros D E m le. destruct (near D m) as [_ high]. destruct (near E m) as [low _].
    eapply Rle_trans; [apply high|]. replace (epsilon + 2 * b) with (b + epsilon + b) by lra. rewrite !exp_plus.
    pose proof (exp_pos b). pose proof (exp_pos epsilon). pose proof (exp_undo b).
    assert (P E m <= exp b * Q E m).
    { replace (P E m) with (exp b * (exp (- b) * P E m)) by (rewrite <- Rmult_assoc, H1; lra).
      apply Rmult_le_compat_l; lra. }
    rewrite !Rmult_assoc. apply Rmult_le_compat_l; [lra|]. eapply Rle_trans; [apply le|].
    apply Rmult_le_compat_l; lra. }
  intros x D E add m. destruct (priv x D E add m). split; apply H; auto.
Qed.

(* Together: the draw of weight w by choices whose log-weights are off by a in sum, on each table, is private for
   w + slack_factor * a, the epsilon that the code pays for. Not proven here: that a is at most what
   docs/mathematics.md derives from the rounding of float64, and that each choice is exact for its log-weights. *)
Theorem rounded_draw_private models prior (loss : table Row -> Model -> R) w a (drawn : table Row -> Model -> R) :
  is_distribution models prior -> 0 <= w -> monotone (IZR draw_sensitivity) loss ->
  (forall D, within (2 * a) (draw models prior loss w D) (drawn D)) ->
  private (w + IZR slack_factor * a) drawn.
Proof.
  intros is_prior pos mono near. replace (w + IZR slack_factor * a)
    with (w + 2 * (2 * a)) by (unfold slack_factor; lra).
  eapply rounded_private; eauto. now apply draw_private.
Qed.

End Rounding.
