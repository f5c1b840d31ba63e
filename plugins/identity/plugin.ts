import { definePlugin } from '../kit/plugin.ts'
import { adminEmailGroup, adminGroup } from './accounts/admin.handlers.ts'
import { consoleGroup } from './accounts/console.handlers.ts'
import { followGroup } from './accounts/follows.handlers.ts'
import { siteRulesGroup, validationGroup } from './accounts/registration.handlers.ts'
import { pageSizeGroup, settingsGroup } from './accounts/settings.handlers.ts'
import { avatarGroup, userGroup } from './accounts/users.handlers.ts'
import { linkCodeGroup, signInGroup } from './authentication/sign-in.handlers.ts'
import { emailGroup } from './emails/emails.handlers.ts'
import { housekeepingGroup } from './housekeeping.job.ts'
import { identityObjectTypes } from './relations.ts'
import { secondFactorGroup } from './second-factor/second-factor.handlers.ts'
import { sessionGroup } from './sessions/sessions.handlers.ts'
import { customTokenGroup, tokenGroup } from './tokens/tokens.handlers.ts'

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
