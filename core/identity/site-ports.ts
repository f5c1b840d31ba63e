import { token } from '../kernel/token.ts'

/** What a site admin decided about new accounts. */
export interface SiteRules {
  /** Whether people may make accounts for themselves. Closed until an admin opens it. */
  readonly isRegistrationOpen: boolean
  /** Domains in ASCII, lower case, in order. Empty: addresses of every domain are fine. Site admins are not bound by it. */
  readonly allowedDomains: readonly string[]
}

/** The rules of the whole site, one set of rows; changes belong into a transaction. */
export interface SiteRulesStore {
  read(): Promise<SiteRules>
  setRegistrationOpen(isOpen: boolean): Promise<void>
  /** False when it was there already. */
  addDomain(domain: string): Promise<boolean>
  /** False when it was not there. */
  removeDomain(domain: string): Promise<boolean>
}
/** Outside of a transaction, for reading. */
export const SiteRulesStoreToken = token<SiteRulesStore>('identity.SiteRulesStore')
