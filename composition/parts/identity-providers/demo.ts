import { definedFields } from '../../../core/kernel/json.ts'
import { isObject } from '../../../core/kernel/json.ts'
import type { DemoSeeder } from '../../part/part.ts'

/** What `/accounts/admin/auths/new` is sent for an address: of a directory (RFC 4516) if it is one of LDAP. */
const sourceOf = (address: string): object => {
  const [, scheme, host, base] = /^(ldaps?):\/\/([^/?#]+)\/?([^?#]*)/i.exec(address) ?? []
  if (scheme === undefined || host === undefined)
    return { type: 6, openIDConnectAutoDiscoveryURL: address, oauth2Key: 'moorage' }
  const { hostname } = new URL(`http://${host}`)
  const port = /:(\d+)$/.exec(host)?.[1]
  return {
    type: 2,
    host: hostname.replaceAll(/^\[|\]$/g, ''),
    ...definedFields({ port: port === undefined ? undefined : Number(port) }),
    securityProtocol: scheme.toLowerCase() === 'ldaps' ? 1 : 2,
    bindDN: '',
    userBase: decodeURIComponent(base ?? ''),
    directory: { trusts_mail: true },
  }
}

/** Adds the identity provider of `demo seed --identity-provider`. Its people become viewers of the first customer. */
export const seedProvider: DemoSeeder = async ({ identityProvider, customers, send, tell }) => {
  const [customer] = customers
  if (identityProvider === undefined || customer === undefined) return
  tell('Adding the identity provider …')
  const teams = (await send('GET', `/orgs/${customer.name}/teams`)) as readonly unknown[]
  const viewers = teams.find((team) => isObject(team) && team['name'] === 'Viewers')
  await send('POST', '/accounts/admin/auths/new', {
    name: 'corporate',
    display_name: 'Corporate sign-in',
    allows_creation: true,
    default_team_id: isObject(viewers) ? viewers['id'] : 0,
    ...sourceOf(identityProvider),
  })
}
