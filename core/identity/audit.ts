import { defineAudit } from '../kernel/unit-of-work.ts'
import type { TokenId, UserId } from '../kernel/ids.ts'

/** The audit rows about a user's account. They are in the log of that user. */
export const auditOfUser = defineAudit(
  'user',
  [
    'user.created',
    'user.signed_up',
    'user.updated',
    'user.renamed',
    'user.deactivated',
    'user.reactivated',
    'user.enabled',
    'user.locked',
    'user.unlocked',
    'user.password_changed',
    'user.password_reset_asked',
    'user.signed_in',
    'user.signed_out',
    'user.sessions_ended',
    'user.access_ended',
    'user.remembered_login_stolen',
    'user.custom_token_issued',
    'user.avatar_changed',
    'user.avatar_removed',
    'user.page_sizes_changed',
    'session.revoked',
    'session.others_revoked',
    'email.added',
    'email.removed',
    'email.confirmed',
    'email.made_primary',
    'email.confirmation_asked',
    'second_factor.enrolled',
    'second_factor.disabled',
    'second_factor.recovery_code_used',
    'second_factor.recovery_codes_replaced',
    'passkey.added',
    'passkey.removed',
    'passkey.renamed',
    'passkey.counter_went_back',
  ],
  ({ id, login }: { readonly id: UserId; readonly login: string }) => ({
    objectId: id,
    objectName: login,
    tenantId: id,
  }),
)

/** The audit rows about access tokens. They are in the log of the token's user. */
export const auditOfToken = defineAudit(
  'token',
  ['token.created', 'token.rotated', 'token.deleted'],
  ({ id, userId, name }: { readonly id: TokenId; readonly userId: UserId; readonly name: string }) => ({
    objectId: id,
    objectName: name,
    tenantId: userId,
  }),
)
