import type { ObjectTypeDefinition } from '../../core/kernel/access.ts'
import { definePlugin } from '../kit/plugin.ts'
import { adminEmailGroup, adminGroup } from './accounts/admin.handlers.ts'
import { consoleGroup } from './accounts/console.handlers.ts'
import { siteRulesGroup, validationGroup } from './accounts/registration.handlers.ts'
import { pageSizeGroup, settingsGroup } from './accounts/settings.handlers.ts'
import { avatarGroup, followGroup, userGroup } from './accounts/users.handlers.ts'
import { linkCodeGroup, signInGroup } from './authentication/sign-in.handlers.ts'
import { emailGroup } from './emails/emails.handlers.ts'
import { housekeepingGroup } from './housekeeping.job.ts'
import { passkeyGroup, passkeySignInGroup } from './passkeys/passkeys.handlers.ts'
import { secondFactorGroup } from './second-factor/second-factor.handlers.ts'
import { sessionGroup } from './sessions/sessions.handlers.ts'
import { customTokenGroup, tokenGroup } from './tokens/tokens.handlers.ts'

/** The caller. The allowed-permissions routes accept no other id. */
const user: ObjectTypeDefinition = {
  type: 'user',
  listed: true,
  scope: 'user',
  reading: ['can_view'],
  relations: {
    can_view: [{ by: 'self' }],
    can_edit: [{ by: 'self' }],
  },
}

/** The caller's own access tokens. */
const accessToken: ObjectTypeDefinition = {
  type: 'token',
  place: { in: 'caller', key: 'id', rows: 'own' },
  listed: true,
  scope: 'user',
  reading: ['can_view'],
  relations: {
    can_view: [{ by: 'owner' }],
    can_delete: [{ by: 'owner' }],
  },
}

const identityObjectTypes: readonly ObjectTypeDefinition[] = [user, accessToken]

/** Users, their addresses, credentials and sessions. */
export const identityPlugin = definePlugin({
  id: 'identity',
  summary: 'Users, access tokens, sessions, e-mail addresses and follow relations',
  listener: 'api',
  gate: 'always',
  objectTypes: identityObjectTypes,
  groups: [
    userGroup,
    signInGroup,
    sessionGroup,
    secondFactorGroup,
    passkeyGroup,
    passkeySignInGroup,
    tokenGroup,
    settingsGroup,
    pageSizeGroup,
    avatarGroup,
    emailGroup,
    linkCodeGroup,
    followGroup,
    validationGroup,
    adminGroup,
    adminEmailGroup,
    consoleGroup,
    customTokenGroup,
    siteRulesGroup,
    housekeepingGroup,
  ],
})
