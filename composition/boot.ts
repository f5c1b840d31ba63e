import type { TlsIdentity } from '../adapters/security/tls-identity.ts'
import type { SqlDatabase } from '../adapters/sql/kit/statement.ts'
import type { SharedClock } from '../adapters/system/shared-clock.ts'
import type { Catalogue } from '../core/authz/types.ts'
import type { Deployment } from '../core/kernel/deployment.ts'
import type { Log } from '../core/kernel/log.ts'
import type { Secret, SecretBox } from '../core/kernel/secret.ts'
import type { Container } from './container.ts'
import type { Settings } from './config/settings.ts'

/** Keys that are no key-encryption keys, from the same key ring, 32 bytes each. */
export interface ServiceKeys {
  /** HMAC-SHA256 over values that the audit log keeps comparable but unreadable. */
  readonly audit: Secret<Uint8Array>
  /** HMAC-SHA256 that binds a CSRF value to its session. */
  readonly csrf: Secret<Uint8Array>
}

/** What stands before the ports are provided; the providers of each part read it. */
export interface Boot {
  readonly settings: Settings
  readonly deployment: Deployment
  readonly log: Log
  readonly database: SqlDatabase
  /** The database's time. */
  readonly clock: SharedClock
  readonly secretBox: SecretBox
  /** Set where the API port speaks HTTPS beside HTTP. */
  readonly tls: TlsIdentity | undefined
  readonly keys: ServiceKeys
  readonly catalogue: Catalogue
  /** This process among several instances; new at each start. */
  readonly instanceId: string
  /** `{base_url}` without a trailing slash: MOORAGE_BASE_URL, else where the API listener is bound. */
  baseUrl(): string
  /** Has `close` called when the service stops, last registered first. */
  onStop(name: string, close: () => Promise<void>): void
}

/** Provides the ports of one part. */
export type Provide = (container: Container, boot: Boot) => void
