import type { AuditTrail, UnitOfWork } from '../kernel/unit-of-work.ts'
import { token } from '../kernel/token.ts'

/** The look of a console. Pictures are `data:` URLs of PNG, JPEG or WebP; empty if there is none. */
export interface Branding {
  readonly logo: string
  readonly favicon: string
  /** `#rrggbb`, lower case. */
  readonly primaryColor: string
  readonly showAppTag: boolean
  readonly appName: string
}

/** The branding of the installation. */
export interface BrandingStore {
  /** Undefined if none has been set. */
  read(): Promise<Branding | undefined>
  put(branding: Branding): Promise<void>
}
export const BrandingStoreToken = token<BrandingStore>('platform.BrandingStore')
export const PlatformUnitOfWorkToken =
  token<UnitOfWork<{ readonly branding: BrandingStore; readonly audit: AuditTrail }>>('platform.UnitOfWork')

/** Exact counts of the objects of the site. */
export interface SiteCounts {
  readonly users: number
  readonly activeUsers: number
  readonly siteAdmins: number
  readonly organizations: number
  readonly teams: number
  readonly clusters: number
  readonly sessions: number
  readonly accessTokens: number
}

/** Facts about the installation for a site admin's console. */
export interface SiteFacts {
  counts(): Promise<SiteCounts>
  database(): Promise<{ readonly kind: 'sqlite' | 'mysql'; readonly version: string }>
  /** Every setting by its key in the file, in a form that may be shown. Secrets are never included. */
  settings(): Readonly<Record<string, unknown>>
  readonly runtime: string
  readonly startedAt: Date
  readonly runMode: 'production' | 'development'
  readonly deploymentType: string
}
export const SiteFactsToken = token<SiteFacts>('platform.SiteFacts')
