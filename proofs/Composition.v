(* Composition: "In blocks" and "One choice, and all counts" of docs/mathematics.md, and "Together" of its fact 5
   (src/hedgerow/privacy/noise.py: Siblings; privacy/gate.py and privacy/budget.py: sums of charges). *)

From Coq Require Import Reals List Lra Lia.
From Hedgerow Require Import Sums Tables.
Import ListNotations.
Open Scope R_scope.

Section Composition.
Context {Row : Type}.

(* Two releases, the second of which depends on the first's answer. *)
Theorem two_releases {A B} e f (M : table Row -> A -> R) (N : A -> table Row -> B -> R) :
  (forall D a, 0 <= M D a) -> (forall a D b, 0 <= N a D b) -> private e M -> (forall a, private f (N a)) ->
  private (e + f) (fun D ab => M D (fst ab) * N (fst ab) D (snd ab)).
Proof.
  intros Mpos Npos Mp Np x D E add [a b]. simpl. destruct (Mp x D E add a), (Np a x D E add b).
  rewrite exp_plus. split.
  - replace (exp e * exp f * (M E a * N a E b)) with ((exp e * M E a) * (exp f * N a E b)) by lra.
    apply Rmult_le_compat; auto.
  - replace (exp e * exp f * (M D a * N a D b)) with ((exp e * M D a) * (exp f * N a D b)) by lra.
    apply Rmult_le_compat; auto.
Qed.

(* Any number of releases: which comes next, and what it may cost, depends on all earlier answers (latest first). *)
Variables (Answer : Type) (release : list Answer -> table Row -> Answer -> R) (cost : list Answer -> R).

Fixpoint chance (history : list Answer) (D : table Row) : R :=
  match history with [] => 1 | a :: earlier => chance earlier D * release earlier D a end.

Fixpoint spent (history : list Answer) : R :=
  match history with [] => 0 | _ :: earlier => spent earlier + cost earlier end.

(* If on every way through the answers what is spent is at most epsilon, all of it is epsilon-private. *)
Theorem adaptive_releases epsilon :
  (forall h D a, 0 <= release h D a) -> (forall h, private (cost h) (release h)) ->
  forall possible : list Answer -> Prop, (forall h, possible h -> spent h <= epsilon) ->
  forall x D E, adds x D E -> forall h, possible h ->
  chance h D <= exp epsilon * chance h E /\ chance h E <= exp epsilon * chance h D.
Proof.
  intros pos priv possible cap x D E add h ok.
  assert (forall D h, 0 <= chance h D) as cpos.
  { intros F g. induction g as [|a g IH]; simpl; [lra|]. apply Rmult_le_pos; auto. }
  assert (chance h D <= exp (spent h) * chance h E /\ chance h E <= exp (spent h) * chance h D) as [one other].
  { clear ok. induction h as [|a h [one other]]; simpl; [rewrite exp_0; lra|].
    destruct (priv h x D E add a) as [p q]. rewrite exp_plus. split.
    - replace (exp (spent h) * exp (cost h) * (chance h E * release h E a))
        with ((exp (spent h) * chance h E) * (exp (cost h) * release h E a)) by lra.
      apply Rmult_le_compat; auto.
    - replace (exp (spent h) * exp (cost h) * (chance h D * release h D a))
        with ((exp (spent h) * chance h D) * (exp (cost h) * release h D a)) by lra.
      apply Rmult_le_compat; auto. }
  pose proof (exp_le _ _ (cap h ok)).
  split; (eapply Rle_trans; [eassumption|]); apply Rmult_le_compat_r; auto.
Qed.

(* Parallel composition: a row belongs to one part, such as a leaf, and each part has a release on its own rows. *)
Context {Part B : Type}.
Variables (part_of : Row -> Part) (same : forall a b : Part, {a = b} + {a <> b}).

Definition rows_of (p : Part) (D : table Row) : table Row :=
  filter (fun r => if same (part_of r) p then true else false) D.

Fixpoint together (M : Part -> table Row -> B -> R) (parts : list Part) (D : table Row) (answers : list B) : R :=
  match parts, answers with
  | [], [] => 1
  | p :: ps, b :: bs => M p (rows_of p D) b * together M ps D bs
  | _, _ => 0
  end.

Lemma rows_of_part x D E p : adds x D E -> part_of x = p -> adds x (rows_of p D) (rows_of p E).
Proof.
  intros [before after] H. unfold rows_of. rewrite !filter_app. simpl.
  destruct (same (part_of x) p); [constructor | contradiction].
Qed.

Lemma rows_of_other x D E p : adds x D E -> part_of x <> p -> rows_of p E = rows_of p D.
Proof.
  intros [before after] H. unfold rows_of. rewrite !filter_app. simpl.
  destruct (same (part_of x) p); [contradiction | reflexivity].
Qed.

Theorem parallel_releases epsilon (M : Part -> table Row -> B -> R) (parts : list Part) :
  0 <= epsilon -> NoDup parts -> (forall p D b, 0 <= M p D b) -> (forall p, private epsilon (M p)) ->
  private epsilon (together M parts).
Proof.
  intros pos once nonneg priv x D E add.
  assert (forall ps F bs, 0 <= together M ps F bs) as tpos.
  { induction ps as [|p ps IH]; intros F [|b bs]; simpl; try lra. apply Rmult_le_pos; auto. }
  assert (forall ps bs, ~ In (part_of x) ps -> together M ps E bs = together M ps D bs) as unmoved.
  { induction ps as [|p ps IH]; intros [|b bs] H; simpl in *; auto.
    rewrite (rows_of_other x D E p add) by intuition. rewrite IH; auto. }
  induction once as [|p ps not_in nd IH]; intros [|b bs]; simpl; pose proof (exp_at_least_one _ pos); try nra.
  destruct (same (part_of x) p) as [mine|other].
  - rewrite (unmoved ps bs) by congruence.
    destruct (priv p x _ _ (rows_of_part x D E p add mine) b). specialize (tpos ps D bs).
    split; rewrite <- Rmult_assoc; apply Rmult_le_compat_r; auto.
  - rewrite (rows_of_other x D E p add other). destruct (IH bs). pose proof (nonneg p (rows_of p D) b).
    split.
    + replace (exp epsilon * (M p (rows_of p D) b * together M ps E bs))
        with (M p (rows_of p D) b * (exp epsilon * together M ps E bs)) by lra. apply Rmult_le_compat_l; auto.
    + replace (exp epsilon * (M p (rows_of p D) b * together M ps D bs))
        with (M p (rows_of p D) b * (exp epsilon * together M ps D bs)) by lra. apply Rmult_le_compat_l; auto.
Qed.

End Composition.
