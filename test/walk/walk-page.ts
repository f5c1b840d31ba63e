import { readFileSync } from 'node:fs'

/** A step of `docs/walk.md`: its heading without the number, and its requests as `POST $VENDOR/api/v1/contracts`. */
interface PageStep {
  readonly title: string
  readonly requests: readonly string[]
}

const page = new URL('../../docs/walk.md', import.meta.url)

/** A request of curl on the page: the method, which is GET if none is named, and the address without its query. */
const requestOf = (line: string): string => {
  const [, method = 'GET'] = /\s-X\s+([A-Z]+)/.exec(line) ?? []
  const [, address = ''] = /"(\$[A-Z]+\/[^"?]*)/.exec(line) ?? []
  return `${method} ${address}`
}

/** Returns the steps of the page, in order. */
export const stepsOfPage = (): readonly PageStep[] =>
  readFileSync(page, 'utf8')
    .split(/^## (?=\d+\. )/m)
    .slice(1)
    .map((section) => {
      const [own = ''] = section.split(/^## /m)
      const [heading = ''] = own.split('\n')
      return {
        title: heading.replace(/^\d+\. /, ''),
        requests: [...own.matchAll(/^(?:[A-Z_]+=\$\()?curl .*$/gm)].map(([line]) => requestOf(line)),
      }
    })

/** Reports whether a request that was sent is the one of the page, whose variables may be any segment. */
export const isRequestOf = (onPage: string, sent: string): boolean => {
  const [method, address = ''] = onPage.split(' ')
  const [sentMethod, sentAddress = ''] = sent.split(' ')
  const [own, other] = [address.split('/'), sentAddress.split('/')]
  return (
    method === sentMethod &&
    own[0] === other[0] &&
    own.length === other.length &&
    own.every((part, index) => index === 0 || part === other[index] || isFilledBy(part, other[index] ?? ''))
  )
}

/** `$ID.$UID` is filled by any text with these parts. */
const isFilledBy = (part: string, text: string): boolean =>
  part.includes('$') &&
  new RegExp(`^${part.replace(/[.*+?^()|[\]{}\\]/g, '\\$&').replace(/\$\w+/g, '[^/]+')}$`).test(text)
