/** One row of the audit log. */
export interface AuditEvent {
  readonly id: number
  readonly at: Date
  /** The account whose log shows it; 0 for the site. */
  readonly tenantId: number
  readonly actorId: number | undefined
  readonly actorName: string
  /** The site admin who acted as the actor. */
  readonly impersonatorId: number | undefined
  readonly impersonatorName: string
  /** How the caller proved who it is: token, password, session, or none. */
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

/** A row with its place in its account's chain. */
export interface ChainedEvent extends AuditEvent {
  readonly previousHash: Uint8Array
  readonly hash: Uint8Array
}

/** What to list; every given part must match. */
export interface AuditFilter {
  readonly tenantId?: number
  readonly action?: string
  /** The actor's name, in any case. */
  readonly actor?: string
  /** Rows of this instant and later. */
  readonly since?: Date
}
