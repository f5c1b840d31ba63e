/** The result of one check. A warning does not prevent operation today; a problem does. */
export interface Finding {
  readonly subject: string
  readonly state: 'ok' | 'warning' | 'problem'
  /** One sentence, with the action to take. */
  readonly message: string
}

export const ok = (subject: string, message: string): Finding => ({ subject, state: 'ok', message })
export const warning = (subject: string, message: string): Finding => ({ subject, state: 'warning', message })
export const problem = (subject: string, message: string): Finding => ({ subject, state: 'problem', message })
