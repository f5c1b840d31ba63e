import type { HeaderBag } from '../../core/kernel/exchange.ts'

/**
 * Cookies as a browser keeps them for one host by plain HTTP, from real `Set-Cookie` headers; paths are minded, ages
 * are not.
 */
export interface CookieJar {
  /** What an answer set or took away. */
  take(headers: HeaderBag): void
  /**
   * The headers of a request to `path`, as a page of our own sends them: cookies, and the CSRF value where there is
   * one.
   */
  headers(path?: string): Readonly<Record<string, string>>
  value(name: string): string | undefined
  names(): readonly string[]
  set(name: string, value: string): void
  drop(name: string): void
  /** Another browser with the same cookies: a copy that goes its own way. */
  copy(): CookieJar
}

interface Kept {
  readonly value: string
  readonly path: string
}

export const makeCookieJar = (from: ReadonlyMap<string, Kept> = new Map()): CookieJar => {
  const kept = new Map(from)
  const take = (line: string): void => {
    const [pair = '', ...attributes] = line.split('; ')
    const name = pair.slice(0, pair.indexOf('='))
    const attribute = (wanted: string) =>
      attributes.find((one) => one.startsWith(`${wanted}=`))?.slice(wanted.length + 1)
    if (attribute('Max-Age') === '0') kept.delete(name)
    else kept.set(name, { value: pair.slice(pair.indexOf('=') + 1), path: attribute('Path') ?? '/' })
  }
  return {
    take: (headers) => [headers['set-cookie'] ?? []].flat().forEach(take),
    headers(path = '/api/v1') {
      const sent = [...kept].filter(([, cookie]) => path.startsWith(cookie.path))
      const csrf = kept.get('_csrf')
      return {
        ...(sent.length === 0 ? {} : { Cookie: sent.map(([name, cookie]) => `${name}=${cookie.value}`).join('; ') }),
        ...(csrf === undefined ? {} : { 'X-Csrf-Token': csrf.value }),
        'Sec-Fetch-Site': 'same-origin',
      }
    },
    value: (name) => kept.get(name)?.value,
    names: () => [...kept.keys()].sort(),
    set: (name, value) => void kept.set(name, { value, path: '/' }),
    drop: (name) => void kept.delete(name),
    copy: () => makeCookieJar(kept),
  }
}
