/** What a registry wants before it answers (RFC 9110 §11.6.1, RFC 6750). */
export type Challenge =
  | { readonly scheme: 'basic' }
  | { readonly scheme: 'bearer'; readonly realm: string; readonly service: string | undefined; readonly scope: string | undefined }

/** Undefined when it is none that is known. */
export const challengeOf = (header: string): Challenge | undefined => {
  if (header.length > 4096) return undefined
  const [, scheme = '', rest = ''] = /^\s*([A-Za-z]+)\s*(.*)$/s.exec(header) ?? []
  if (scheme.toLowerCase() === 'basic') return { scheme: 'basic' }
  if (scheme.toLowerCase() !== 'bearer') return undefined
  const parameters = new Map([...rest.matchAll(/([A-Za-z]+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name.toLowerCase(), value]))
  const realm = parameters.get('realm')
  return realm === undefined ? undefined : { scheme: 'bearer', realm, service: parameters.get('service'), scope: parameters.get('scope') }
}

export const tokenUrl = ({ realm, service, scope }: Extract<Challenge, { scheme: 'bearer' }>, repository: string): URL | undefined => {
  if (!URL.canParse(realm)) return undefined
  const url = new URL(realm)
  if (service !== undefined) url.searchParams.set('service', service)
  url.searchParams.set('scope', scope ?? `repository:${repository}:pull`)
  return url
}

/**
 * Whether credentials of the registry may be shown to where it sends us for a token: itself, or by https a host below the
 * same parent (`registry-1.docker.io` and `auth.docker.io`). Anywhere else a token is asked for without them.
 */
export const mayHoldToken = (registry: URL, realm: URL): boolean => {
  if (realm.origin === registry.origin) return true
  const parent = registry.hostname.split('.').slice(1).join('.')
  const isNamed = parent.includes('.') && !/^[\d.]+$/.test(registry.hostname)
  return isNamed && realm.protocol === 'https:' && registry.protocol === 'https:' && (realm.hostname === parent || realm.hostname.endsWith(`.${parent}`))
}
