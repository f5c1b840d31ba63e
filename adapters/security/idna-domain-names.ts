import { domainToASCII, domainToUnicode } from 'node:url'
import type { DomainNames } from '../../core/identity/ports.ts'

/**
 * A label that registries accept (RFC 5892): letters, digits and marks, and the characters that are valid in context.
 * UTS 46 alone also maps symbols and pictures. A label that still begins with `xn--` could not be decoded.
 */
const registrable = /^(?!xn--)[\p{Ll}\p{Lo}\p{Lm}\p{Nd}\p{Mn}\p{Mc}\u00b7\u0375\u05f3\u05f4\u30fb\u200c\u200d-]+$/u

/** Domain names by the WHATWG URL rules (UTS 46), without the characters that IDNA 2008 disallows. */
export const idnaDomainNames: DomainNames = {
  toAscii(domain) {
    // The URL parser would decode percent-encoding before it parses the name.
    if (domain.includes('%')) return undefined
    const ascii = domainToASCII(domain).toLowerCase()
    const isName = domainToUnicode(ascii)
      .split('.')
      .every((label) => registrable.test(label))
    return isName ? ascii : undefined
  },
  toUnicode: domainToUnicode,
}
