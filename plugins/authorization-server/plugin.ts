import { definePlugin } from '../kit/plugin.ts'
import {
  consentGroup,
  orgApplicationGroup,
  ownApplicationGroup,
  siteApplicationGroup,
} from './applications.handlers.ts'
import { authorizationGroup, authorizationUpkeepGroup, protocolGroup } from './authorizations.handlers.ts'
import { workloadGroup } from './workloads.handlers.ts'

export const authorizationServerPlugin = definePlugin({
  id: 'authorization-server',
  summary: 'Sign-in of people at other applications, by OAuth 2.1 and OpenID Connect',
  listener: 'api',
  gate: 'always',
  groups: [
    ownApplicationGroup,
    consentGroup,
    orgApplicationGroup,
    siteApplicationGroup,
    authorizationGroup,
    protocolGroup,
    authorizationUpkeepGroup,
    workloadGroup,
  ],
})
