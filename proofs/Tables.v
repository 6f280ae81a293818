(* Tables, neighbours by one added row, and pure differential privacy: the head of docs/mathematics.md, and its fact 7.

   A mechanism gives each table the mass function of its answers. Privacy is the ratio of the two masses of each answer,
   in both directions; for answers that can be counted this is that of all sets of answers. *)

From Coq Require Import Reals List Lra Lia.
From Hedgerow Require Import Sums.
Import ListNotations.
Open Scope R_scope.

Section Tables.
Context {Row : Type}.

Definition table := list Row.

(* `adds x D E`: E is D with the row x put in somewhere. *)
Inductive adds (x : Row) : table -> table -> Prop :=
  adds_one : forall before after, adds x (before ++ after) (before ++ x :: after).

Definition is_distribution {A} (answers : list A) (P : A -> R) : Prop :=
  (forall a, 0 <= P a) /\ sum P answers = 1.

Definition close {A} (epsilon : R) (P Q : A -> R) : Prop :=
  forall a, P a <= exp epsilon * Q a /\ Q a <= exp epsilon * P a.

Definition private {A} (epsilon : R) (M : table -> A -> R) : Prop :=
  forall x D E, adds x D E -> close epsilon (M D) (M E).

(* The loss of a model is a sum over rows (learn/search/losses.py). *)
Definition total {A} (row_loss : Row -> A -> R) (D : table) (a : A) : R := sum (fun r => row_loss r a) D.

(* An added row lowers no score, and raises each by s at most. *)
Definition monotone {A} (s : R) (loss : table -> A -> R) : Prop :=
  forall x D E a, adds x D E -> loss D a <= loss E a <= loss D a + s.

Theorem sum_of_bounded_losses_is_monotone {A} s (row_loss : Row -> A -> R) :
  (forall r a, 0 <= row_loss r a <= s) -> monotone s (total row_loss).
Proof.
  intros H x D E a [before after]. unfold total. rewrite !sum_app. simpl. specialize (H x a). lra.
Qed.

Lemma close_weaken {A} e f (P Q : A -> R) :
  e <= f -> (forall a, 0 <= P a) -> (forall a, 0 <= Q a) -> close e P Q -> close f P Q.
Proof.
  intros H HP HQ C a. destruct (C a) as [one other]. pose proof (exp_le _ _ H).
  split; eapply Rle_trans; eauto; apply Rmult_le_compat_r; auto.
Qed.

(* Any set of answers, given as a list. *)
Theorem private_on_sets {A} epsilon (M : table -> A -> R) :
  private epsilon M -> forall x D E, adds x D E -> forall answers,
  sum (M D) answers <= exp epsilon * sum (M E) answers /\ sum (M E) answers <= exp epsilon * sum (M D) answers.
Proof.
  intros H x D E add answers. rewrite <- !sum_scale.
  split; apply sum_le; intros a _; apply (H x D E add a).
Qed.

(* What is computed from an answer alone: f(answer) = b, by whatever test of equality. *)
Theorem post_processing {A B} epsilon (M : table -> A -> R) (answers : list A) (is : A -> B -> bool) :
  private epsilon M -> private epsilon (fun D b => sum (M D) (filter (fun a => is a b) answers)).
Proof. intros H x D E add b. eapply private_on_sets; eauto. Qed.

(* A chain of k added rows: the unit of fact 7 (privacy/unit.py). *)
Inductive adds_many : nat -> table -> table -> Prop :=
| adds_none : forall D, adds_many 0 D D
| adds_more : forall k x D E F, adds x D E -> adds_many k E F -> adds_many (S k) D F.

Theorem group_privacy {A} epsilon (M : table -> A -> R) :
  private epsilon M -> forall k D E, adds_many k D E -> close (INR k * epsilon) (M D) (M E).
Proof.
  intros H k D E. induction 1 as [D|k x D E F add rest IH]; intros a.
  - simpl. rewrite Rmult_0_l, exp_0. lra.
  - destruct (H x D E add a) as [one other]. destruct (IH a) as [further back].
    rewrite S_INR. replace ((INR k + 1) * epsilon) with (epsilon + INR k * epsilon) by lra. rewrite exp_plus.
    pose proof (exp_pos epsilon). pose proof (exp_pos (INR k * epsilon)). split.
    + eapply Rle_trans; [apply one|]. rewrite Rmult_assoc. apply Rmult_le_compat_l; lra.
    + eapply Rle_trans; [apply back|]. rewrite (Rmult_comm (exp epsilon)), Rmult_assoc.
      apply Rmult_le_compat_l; lra.
Qed.

End Tables.

Arguments table : clear implicits.
