import type { AuditTrail, UnitOfWork } from '../kernel/unit-of-work.ts'
import { token } from '../kernel/token.ts'

/** How a console looks. Pictures are `data:` URLs of PNG, JPEG or WebP; empty when there is none. */
export interface Branding {
  readonly logo: string
  readonly favicon: string
  /** `#rrggbb`, lower case. */
  readonly primaryColor: string
  readonly showAppTag: boolean
  readonly appName: string
}

/** The one look of the installation. */
export interface BrandingStore {
  /** Undefined until somebody chose one. */
  read(): Promise<Branding | undefined>
  put(branding: Branding): Promise<void>
}
export const BrandingStoreToken = token<BrandingStore>('platform.BrandingStore')
export const PlatformUnitOfWorkToken = token<UnitOfWork<{ readonly branding: BrandingStore; readonly audit: AuditTrail }>>('platform.UnitOfWork')

/** How much there is of everything, exactly. */
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

/** What a site admin's console tells about the installation itself. */
export interface SiteFacts {
  counts(): Promise<SiteCounts>
  database(): Promise<{ readonly kind: 'sqlite' | 'mysql'; readonly version: string }>
  /** Every setting by its key in the file, as it may be shown: a secret never. */
  settings(): Readonly<Record<string, unknown>>
  readonly runtime: string
  readonly startedAt: Date
  readonly runMode: 'production' | 'development'
  readonly deploymentType: string
}
export const SiteFactsToken = token<SiteFacts>('platform.SiteFacts')
