import ipaddr from 'ipaddr.js'

/** Whoever has an IPv6 address has the whole /64 around it, so that is what counts; an IPv4 address counts for itself. */
export const networkOf = (address: string): string =>
  address.includes(':') ? ipaddr.IPv6.parse(address).parts.slice(0, 4).map((part) => part.toString(16)).join(':') : address
