import { IdempotencyStoreToken } from '../../core/kernel/idempotency.ts'
import { BrandingStoreToken, PlatformUnitOfWorkToken, SiteFactsToken } from '../../core/platform/ports.ts'
import type { Given } from '../kit/plugin.ts'

/** The ports of the platform plugin. */
export const platformNeeds = {
  idempotency: IdempotencyStoreToken,
  branding: BrandingStoreToken,
  unitOfWork: PlatformUnitOfWorkToken,
  facts: SiteFactsToken,
}
export type PlatformGiven = Given<typeof platformNeeds>
