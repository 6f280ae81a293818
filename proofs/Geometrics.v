(* Sums of independent geometric numbers: what SharedHistograms.v uses. *)

From Coq Require Import Reals Lra Lia.
Open Scope R_scope.

Definition geometric (q : R) (i : nat) : R := (1 - q) * q ^ i.

(* The law of a sum of k + 1 independent geometric numbers, by convolution. *)
Fixpoint geometrics (q : R) (k i : nat) : R :=
  match k with
  | O => geometric q i
  | S k => sum_f_R0 (fun j => geometrics q k j * geometric q (i - j)) i
  end.

(* In how many ways k + 1 whole numbers that are not negative add up to i. *)
Fixpoint ways (k : nat) : nat -> nat :=
  match k with
  | O => fun _ => 1%nat
  | S k => fix up_to i := match i with O => ways k O | S j => (up_to j + ways k (S j))%nat end
  end.

Lemma ways_step k i : ways (S k) (S i) = (ways (S k) i + ways k (S i))%nat.
Proof. reflexivity. Qed.

Lemma ways_zero k : ways k 0 = 1%nat.
Proof. induction k; simpl in *; auto. Qed.

Lemma ways_fact k : forall i, (ways k i * (fact k * fact i) = fact (k + i))%nat.
Proof.
  induction k as [|k IH]; intros i.
  - simpl. lia.
  - induction i as [|i IHi].
    + rewrite ways_zero, Nat.add_0_r. simpl. lia.
    + rewrite ways_step. specialize (IH (S i)).
      replace (k + S i)%nat with (S k + i)%nat in IH by lia.
      replace (S k + S i)%nat with (S (S k + i)) by lia.
      rewrite (fact_simpl (S k + i)).
      replace ((ways (S k) i + ways k (S i)) * (fact (S k) * fact (S i)))%nat
        with (S i * (ways (S k) i * (fact (S k) * fact i)) + S k * (ways k (S i) * (fact k * fact (S i))))%nat
        by (rewrite !fact_simpl; ring).
      rewrite IHi, IH. ring.
Qed.

Lemma ways_ratio k i : (S i * ways k (S i) = (S i + k) * ways k i)%nat.
Proof.
  pose proof (ways_fact k (S i)) as next. pose proof (ways_fact k i) as this.
  replace (k + S i)%nat with (S (k + i)) in next by lia. rewrite (fact_simpl (k + i)), <- this, (fact_simpl i) in next.
  pose proof (lt_O_fact k). pose proof (lt_O_fact i).
  apply Nat.mul_cancel_r with (p := (fact k * fact i)%nat); nia.
Qed.

Lemma ways_total k i : INR (ways (S k) i) = sum_f_R0 (fun j => INR (ways k j)) i.
Proof. induction i as [|i IH]; [reflexivity|]. rewrite ways_step, plus_INR, IH. reflexivity. Qed.

Lemma geometrics_ways q k : forall i, geometrics q k i = (1 - q) ^ S k * q ^ i * INR (ways k i).
Proof.
  induction k as [|k IH]; intros i.
  - unfold geometrics, geometric. simpl. lra.
  - cbn [geometrics]. rewrite ways_total, scal_sum. apply sum_eq. intros j le. rewrite IH. unfold geometric.
    replace (q ^ i) with (q ^ j * q ^ (i - j)) by (rewrite <- pow_add; f_equal; lia). simpl. ring.
Qed.

Lemma geometrics_nonneg q k i : 0 < q < 1 -> 0 <= geometrics q k i.
Proof.
  intros Hq. rewrite geometrics_ways. repeat apply Rmult_le_pos; try apply pow_le; try lra. apply pos_INR.
Qed.

Lemma geometrics_ratio q k i : INR (S i) * geometrics q k (S i) = q * (INR (S i + k) * geometrics q k i).
Proof.
  rewrite !geometrics_ways. pose proof (f_equal INR (ways_ratio k i)) as E. rewrite !mult_INR in E.
  replace (INR (S i) * ((1 - q) ^ S k * q ^ S i * INR (ways k (S i))))
    with ((1 - q) ^ S k * q ^ S i * (INR (S i) * INR (ways k (S i)))) by ring.
  rewrite E. simpl pow. ring.
Qed.

Definition total_to (q : R) (k n : nat) : R := sum_f_R0 (geometrics q k) n.

Lemma total_step q k n : total_to q (S k) n = total_to q k n - (1 - q) ^ S k * q ^ S n * INR (ways (S k) n).
Proof.
  unfold total_to. induction n as [|n IH].
  - simpl sum_f_R0 at 2. rewrite (geometrics_ways q k). cbn [sum_f_R0]. rewrite geometrics_ways, !ways_zero.
    simpl. ring.
  - rewrite !tech5, IH, !geometrics_ways, ways_step, plus_INR. simpl pow. ring.
Qed.

Lemma cv_const (c : R) : Un_cv (fun _ => c) c.
Proof. intros eps pos. exists O. intros n _. unfold R_dist. rewrite Rminus_diag_eq, Rabs_R0; auto. Qed.

Lemma cv_le (u : nat -> R) l b : Un_cv u l -> (forall n, u n <= b) -> l <= b.
Proof. intros H le. exact (Rle_cv_lim le H (cv_const b)). Qed.

Theorem radius_is_distribution q k : 0 < q < 1 -> Un_cv (total_to q k) 1.
Proof.
  intros Hq. assert (forall k, Un_growing (total_to q k)) as grows.
  { intros j n. unfold total_to. rewrite tech5. pose proof (geometrics_nonneg q j (S n) Hq). lra. }
  induction k as [|k IH].
  - assert (forall n, total_to q 0 n = 1 - q * q ^ n) as E.
    { induction n as [|n E]; unfold total_to in *; simpl in *; unfold geometric in *; simpl in *; [lra|].
      rewrite E. ring. }
    eapply Un_cv_ext; [intros n; symmetry; apply E|].
    replace 1 with (1 - q * 0) at 1 by lra. apply CV_minus; [apply cv_const|]. apply CV_mult; [apply cv_const|].
    intros eps pos. destruct (pow_lt_1_zero q) with (y := eps) as [N HN]; auto; [rewrite Rabs_right; lra|].
    exists N. intros n Hn. unfold R_dist. rewrite Rminus_0_r. auto.
  - assert (forall n, total_to q (S k) n <= 1) as below.
    { intros n. rewrite total_step. assert (0 <= (1 - q) ^ S k * q ^ S n * INR (ways (S k) n)).
      { repeat apply Rmult_le_pos; try apply pow_le; try lra. apply pos_INR. }
      pose proof (growing_ineq _ _ (grows k) IH n). lra. }
    destruct (growing_cv (total_to q (S k)) (grows (S k))) as [l Hl].
    { exists 1. intros x [n ->]. apply below. }
    enough (1 <= l) by (assert (l <= 1) by (now apply (cv_le _ _ _ Hl)); replace 1 with l by lra; exact Hl).
    (* What is missing is at most a multiple of the next term, and the terms fall to 0. *)
    assert (Un_cv (fun n => total_to q (S k) (S n)) l) as next.
    { intros eps pos. destruct (Hl eps pos) as [N HN]. exists N. intros n Hn. apply HN. lia. }
    assert (Un_cv (fun n => total_to q (S k) n + / (1 - q) * (total_to q (S k) (S n) - total_to q (S k) n))
      (l + / (1 - q) * (l - l))) as upper.
    { apply CV_plus; auto. apply CV_mult; [apply cv_const|]. now apply CV_minus. }
    replace (l + / (1 - q) * (l - l)) with l in upper by ring.
    refine (Rle_cv_lim _ IH upper). intros n. rewrite (total_step q k n) at 1. unfold total_to at 3 4.
    rewrite tech5, geometrics_ways, ways_step, plus_INR.
    pose proof (pos_INR (ways k (S n))).
    assert (0 <= (1 - q) ^ S k * q ^ S n) by (apply Rmult_le_pos; apply pow_le; lra).
    replace (/ (1 - q) * (sum_f_R0 (geometrics q (S k)) n + (1 - q) ^ S (S k) * q ^ S n *
      (INR (ways (S k) n) + INR (ways k (S n))) - sum_f_R0 (geometrics q (S k)) n))
      with ((1 - q) ^ S k * q ^ S n * (INR (ways (S k) n) + INR (ways k (S n)))) by (simpl pow; field; lra).
    nra.
Qed.
