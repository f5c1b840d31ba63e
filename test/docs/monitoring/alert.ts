interface Incident {
  /** Series with their values, in the notation of promtool, one a minute. */
  readonly series: Readonly<Record<string, string>>
  readonly at: string
  /** The labels with which the alert fires, beside its severity. */
  readonly labels?: Readonly<Record<string, string>>
}

/** An alert, with an incident that must raise it. */
export interface Alert {
  readonly name: string
  /** `page`: users are harmed now, or soon; `ticket`: an operator must act in the next days; `info`: worth knowing. */
  readonly severity: 'page' | 'ticket' | 'info'
  readonly expr: string
  /** How long the expression must hold. */
  readonly for: string
  /** One sentence. `{{ $labels.x }}` is the value of a label. */
  readonly summary: string
  readonly incident: Incident
  /** Other incidents that must raise it, of an alert that has several reasons. */
  readonly further?: readonly Incident[]
}

/** In seconds. */
export const day = 86_400

/** The labels of an alert about one instance of the incidents. */
export const onA = { instance: 'a:3002' }
