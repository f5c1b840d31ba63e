/** A dependency that must work before the service takes requests. Resolves false, or rejects, when it does not. */
export interface ReadinessCheck {
  readonly name: string
  /** Shown with `verbose`, without effect on readiness. */
  readonly isInformative?: boolean
  /**
   * What fails is common to all instances, or leaves most requests working, so another instance would not serve better:
   * the answer stays 200 and its text says `degraded`.
   */
  readonly isDegrading?: boolean
  check(): Promise<boolean>
  /** Returns why the check fails, for `verbose`. */
  reason?(): string
}
