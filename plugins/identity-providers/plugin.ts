import { definePlugin } from '../kit/plugin.ts'
import { accessCheckGroup, directoryGroup, providerUpkeepGroup } from './checks.job.ts'
import { orgDomainGroup, orgLocalSignInGroup, orgProviderGroup } from './providers.handlers.ts'
import { externalLogoutGroup, externalSignInGroup, linkGroup } from './sign-in.handlers.ts'
import { siteLocalSignInGroup, siteProviderGroup } from './site.handlers.ts'

export const identityProvidersPlugin = definePlugin({
  id: 'identity-providers',
  summary: 'Sign-in with identity providers of the site and of organizations',
  listener: 'api',
  gate: 'always',
  groups: [
    externalSignInGroup,
    externalLogoutGroup,
    linkGroup,
    orgProviderGroup,
    orgLocalSignInGroup,
    orgDomainGroup,
    siteProviderGroup,
    siteLocalSignInGroup,
    accessCheckGroup,
    directoryGroup,
    providerUpkeepGroup,
  ],
})
