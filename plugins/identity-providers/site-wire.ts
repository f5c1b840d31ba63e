import { ProviderRefused } from '../../core/identity-providers/failures.ts'
import type { DirectoryForm } from '../../core/identity-providers/providers/directory-form.ts'
import type { ProviderForm } from '../../core/identity-providers/providers/provider-form.ts'
import type { Provider } from '../../core/identity-providers/types.ts'
import type { Failure } from '../../core/kernel/failure.ts'
import { optionalSecret } from '../../core/kernel/secret.ts'
import { directoryForm } from './directory-codecs.ts'
import { commonForm, providerWire, sourceTypes } from './provider-wire.ts'
import type { AuthPayload, AuthSourceBody } from './site.routes.ts'

const protocol = 'openidConnect'
const descriptionEnd = /\/\.well-known\/openid-configuration$/
const [plain, ldaps, startTls] = [0, 1, 2]

export type SentForm = ProviderForm | Failure<'ProviderRefused'>

const noLdap = {
  host: undefined,
  port: undefined,
  securityProtocol: undefined,
  bindDN: undefined,
  userBase: undefined,
  filter: undefined,
  attributeUsername: undefined,
  attributeName: undefined,
  attributeSurname: undefined,
  attributeMail: undefined,
  searchPageSize: undefined,
}
type LdapField = keyof typeof noLdap

/** Returns what the fields of LDAP in the wider interface say of a source. */
const shownLdap = ({ issuer, clientId, directory }: Provider): Pick<AuthSourceBody, LdapField> => {
  if (directory === undefined) return noLdap
  const isLdaps = issuer.startsWith('ldaps:')
  const { hostname } = new URL(issuer.replace(/^ldaps?/, 'http'))
  return {
    host: hostname,
    port: Number(/:(\d+)$/.exec(issuer)?.[1] ?? (isLdaps ? 636 : 389)),
    securityProtocol: isLdaps ? ldaps : directory.usesStartTls ? startTls : plain,
    bindDN: clientId,
    userBase: directory.userBase,
    filter: directory.userFilter,
    attributeUsername: directory.loginAttribute,
    attributeName: directory.nameAttribute,
    attributeSurname: directory.surnameAttribute,
    attributeMail: directory.mailAttribute,
    searchPageSize: directory.pageSize,
  }
}

const shownOAuth2 = ({ kind, clientId, issuer }: Provider) => ({
  oauth2Provider: kind === 'oidc' ? protocol : undefined,
  oauth2Key: kind === 'oidc' ? clientId : undefined,
  openIDConnectAutoDiscoveryURL: kind === 'oidc' ? issuer : undefined,
})

export const sourceWire = (provider: Provider, baseUrl: string): AuthSourceBody => {
  const {
    issuer: _,
    client_id: __,
    is_active,
    links_verified_domains: ___,
    created_at: ____,
    ...shown
  } = providerWire(provider, baseUrl)
  return {
    ...shown,
    type: sourceTypes[provider.kind],
    isActive: is_active,
    isSyncEnabled: true,
    ...shownOAuth2(provider),
    ...shownLdap(provider),
  }
}

const givenOrUndefined = (text: string | undefined): string | undefined => (text === '' ? undefined : text)

const isLdap = ({ type, host, bindDN, bindPassword, userBase, filter }: AuthPayload): boolean =>
  type === undefined
    ? [host, bindDN, bindPassword, userBase, filter].some((text) => givenOrUndefined(text) !== undefined)
    : type === sourceTypes.ldap

const problemOf = (sent: AuthPayload): string | undefined => {
  if (sent.type !== undefined && sent.type !== sourceTypes.oidc && sent.type !== sourceTypes.ldap)
    return 'type: must be 6, OAuth2, or 2, LDAP. Other kinds of sources do not exist here.'
  if (!isLdap(sent))
    return (givenOrUndefined(sent.oauth2Provider) ?? protocol).toLowerCase() === protocol.toLowerCase()
      ? undefined
      : 'oauth2Provider: must be openidConnect.'
  if (sent.skipVerify === true)
    return 'skipVerify: must not be true. Enter the authority of the certificate in authorities of directory.'
  if (givenOrUndefined(sent.adminFilter) !== undefined)
    return 'adminFilter: must be empty. A site admin makes others site admins.'
  const isAddressed = sent.port !== undefined || sent.securityProtocol !== undefined
  return isAddressed && givenOrUndefined(sent.host) === undefined
    ? 'host: is required with port and securityProtocol.'
    : undefined
}

/** Returns the address of a directory, or undefined if the request has no host. */
const addressOf = ({ host, port, securityProtocol }: AuthPayload): string | undefined => {
  if (host === undefined || host === '') return undefined
  const scheme = securityProtocol === ldaps ? 'ldaps' : 'ldap'
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}${port === undefined ? '' : `:${port}`}`
}

const directoryFields = (sent: AuthPayload): DirectoryForm => ({
  ...directoryForm(sent.directory),
  ...Object.fromEntries(
    Object.entries({
      usesStartTls: sent.securityProtocol === undefined ? undefined : sent.securityProtocol !== plain,
      userBase: givenOrUndefined(sent.userBase),
      userFilter: givenOrUndefined(sent.filter),
      loginAttribute: givenOrUndefined(sent.attributeUsername),
      nameAttribute: givenOrUndefined(sent.attributeName),
      surnameAttribute: sent.attributeSurname,
      mailAttribute: givenOrUndefined(sent.attributeMail),
      pageSize: sent.searchPageSize === 0 ? undefined : sent.searchPageSize,
    }).filter(([, value]) => value !== undefined),
  ),
})

/** Returns the form of a source, or why there is no source of its kind. */
export const authForm = (sent: AuthPayload): SentForm => {
  const problem = problemOf(sent)
  if (problem !== undefined) return ProviderRefused(problem)
  const common = { ...commonForm(sent), name: sent.name, isActive: sent.isActive }
  if (isLdap(sent))
    return {
      ...common,
      kind: 'ldap',
      issuer: addressOf(sent),
      clientId: sent.bindDN,
      clientSecret: optionalSecret(sent.bindPassword),
      directory: directoryFields(sent),
    }
  return {
    ...common,
    kind: sent.type === undefined ? undefined : 'oidc',
    issuer: sent.openIDConnectAutoDiscoveryURL?.replace(descriptionEnd, ''),
    clientId: sent.oauth2Key,
    clientSecret: optionalSecret(sent.oauth2Secret),
  }
}
