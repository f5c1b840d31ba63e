/** One row of the audit log. */
export interface AuditEvent {
  readonly id: number
  readonly at: Date
  /** The account whose log shows the row; 0 for the site. */
  readonly tenantId: number
  readonly actorId: number | undefined
  readonly actorName: string
  /** The site admin who acted as the actor. */
  readonly impersonatorId: number | undefined
  readonly impersonatorName: string
  /** The authentication method: token, password, session, or none. */
  readonly method: string
  readonly tokenId: number | undefined
  readonly sourceIp: string
  readonly requestId: string
  /** The route's id. */
  readonly operation: string
  /** `object.verb`. */
  readonly action: string
  readonly result: 'done' | 'denied'
  readonly objectType: string
  readonly objectId: number | undefined
  readonly objectName: string
  /** JSON object text, exactly as it was sealed. */
  readonly changes: string
}

/** A row with its position in its account's chain. */
export interface ChainedEvent extends AuditEvent {
  readonly previousHash: Uint8Array
  readonly hash: Uint8Array
}

/** The filter of a list. Every field that is set must match. */
export interface AuditFilter {
  readonly tenantId?: number
  readonly action?: string
  /** The actor's name, compared without regard to case. */
  readonly actor?: string
  /** Rows at or after this instant. */
  readonly since?: Date
}
