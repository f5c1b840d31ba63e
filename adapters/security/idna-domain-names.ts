import { domainToASCII } from 'node:url'
import type { DomainNames } from '../../core/identity/ports.ts'

/** Domain names by the WHATWG URL rules (UTS 46). */
export const idnaDomainNames: DomainNames = {
  toAscii(domain) {
    // The URL parser would decode percent-encoding before it parses the name.
    if (domain.includes('%')) return undefined
    const ascii = domainToASCII(domain)
    return ascii === '' ? undefined : ascii.toLowerCase()
  },
}
