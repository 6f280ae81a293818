(* Sums and products over lists: what all other files use. *)

From Coq Require Import Reals List Lra Lia.
Import ListNotations.
Open Scope R_scope.

Fixpoint sum {A} (f : A -> R) (l : list A) : R :=
  match l with [] => 0 | a :: rest => f a + sum f rest end.

Fixpoint product {A} (f : A -> R) (l : list A) : R :=
  match l with [] => 1 | a :: rest => f a * product f rest end.

Section Sums.
Context {A B : Type}.
Implicit Types (f g : A -> R) (l : list A).

Lemma sum_app f l m : sum f (l ++ m) = sum f l + sum f m.
Proof. induction l; simpl; lra. Qed.

Lemma sum_ext f g l : (forall a, In a l -> f a = g a) -> sum f l = sum g l.
Proof. induction l; simpl; intros H; auto. rewrite H, IHl; auto. Qed.

Lemma sum_scale c f l : sum (fun a => c * f a) l = c * sum f l.
Proof. induction l; simpl; [|rewrite IHl]; lra. Qed.

Lemma sum_scale_right c f l : sum (fun a => f a * c) l = sum f l * c.
Proof. induction l; simpl; [|rewrite IHl]; lra. Qed.

Lemma sum_plus f g l : sum (fun a => f a + g a) l = sum f l + sum g l.
Proof. induction l; simpl; [|rewrite IHl]; lra. Qed.

Lemma sum_le f g l : (forall a, In a l -> f a <= g a) -> sum f l <= sum g l.
Proof. induction l; simpl; intros H; [lra|]. apply Rplus_le_compat; auto. Qed.

Lemma sum_nonneg f l : (forall a, In a l -> 0 <= f a) -> 0 <= sum f l.
Proof. induction l; simpl; intros H; [lra|]. apply Rplus_le_le_0_compat; auto. Qed.

Lemma sum_positive f l : (forall a, In a l -> 0 < f a) -> l <> [] -> 0 < sum f l.
Proof.
  destruct l as [|a l]; [congruence|]. intros H _. simpl.
  assert (0 <= sum f l) by (apply sum_nonneg; intros; left; apply H; simpl; auto).
  assert (0 < f a) by (apply H; simpl; auto). lra.
Qed.

Lemma sum_map (h : B -> A) f (l : list B) : sum f (map h l) = sum (fun b => f (h b)) l.
Proof. induction l; simpl; auto. rewrite IHl; auto. Qed.

Lemma sum_flat_map (h : B -> list A) f (l : list B) : sum f (flat_map h l) = sum (fun b => sum f (h b)) l.
Proof. induction l; simpl; auto. rewrite sum_app, IHl; auto. Qed.

Lemma sum_constant c l : sum (fun _ => c) l = INR (length l) * c.
Proof. induction l; simpl length; [simpl; lra|]. rewrite S_INR. simpl. rewrite IHl. lra. Qed.

Lemma product_nonneg f l : (forall a, In a l -> 0 <= f a) -> 0 <= product f l.
Proof. induction l; simpl; intros H; [lra|]. apply Rmult_le_pos; auto. Qed.

Lemma product_ext f g l : (forall a, In a l -> f a = g a) -> product f l = product g l.
Proof. induction l; simpl; intros H; auto. rewrite H, IHl; auto. Qed.

Lemma product_app f l m : product f (l ++ m) = product f l * product f m.
Proof. induction l; simpl; [|rewrite IHl]; lra. Qed.

End Sums.

Lemma exp_le x y : x <= y -> exp x <= exp y.
Proof. intros [H|H]; [left; apply exp_increasing; auto | subst; lra]. Qed.

Lemma exp_at_least_one x : 0 <= x -> 1 <= exp x.
Proof. intros H. rewrite <- exp_0. apply exp_le; auto. Qed.

Lemma exp_undo x : exp x * exp (- x) = 1.
Proof. rewrite <- exp_plus. replace (x + - x) with 0 by lra. apply exp_0. Qed.
