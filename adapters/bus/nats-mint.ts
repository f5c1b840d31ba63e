import { randomUUID } from 'node:crypto'
import { createAccount, createOperator, createUser, encodeAccount, encodeOperator, encodeUser, fmtCreds, fromSeed } from '@nats-io/jwt'
import type { KeyPair } from '@nats-io/jwt'
import type { BusKey, BusMint } from '../../core/bus/ports.ts'
import type { AccountClaims, BusIdentityKind } from '../../core/bus/types.ts'
import type { Clock } from '../../core/kernel/clock.ts'
import { unixSeconds } from '../../core/kernel/clock.ts'
import { secret } from '../../core/kernel/secret.ts'

const makers = { operator: createOperator, system: createAccount, platform: createAccount, account: createAccount, user: createUser } as const

const newKey = (kind: BusIdentityKind | 'user'): BusKey => {
  const pair = makers[kind]()
  return { publicKey: pair.getPublicKey(), seed: secret(new TextDecoder().decode(pair.getSeed())) }
}

const pairOf = ({ seed }: BusKey) => fromSeed(new TextEncoder().encode(seed.reveal()))
/** A revocation covers the whole second in which it falls. */
const secondAfter = (at: Date): number => Math.ceil(at.getTime() / 1000)

/** What is left out counts as zero for the server, so that every limit is spelled out; -1 is none. */
const limitsOf = ({ maxConnections, hasStreams, imports, exports }: AccountClaims) => ({
  subs: -1, data: -1, payload: -1,
  imports: hasStreams || imports.length > 0 ? -1 : 0,
  exports: exports.length > 0 ? -1 : 0,
  wildcards: true,
  conn: maxConnections ?? -1,
  leaf: maxConnections === undefined ? -1 : 0,
  disallow_bearer: false,
  ...(hasStreams ? { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 } : {}),
})

const accountOf = (platform: string, claims: AccountClaims) => ({
  imports: claims.imports.map(({ from, as }) => ({ name: as, type: 'stream' as const, account: platform, subject: from, local_subject: as })),
  exports: claims.exports.map((subject) => ({ name: subject, type: 'stream' as const, subject })),
  limits: limitsOf(claims),
  revocations: Object.fromEntries([...claims.revocations].map(([key, until]) => [key, secondAfter(until)])),
})

/** Nothing may be published where the list is empty: an empty list alone would allow everything. */
const permission = (subjects: readonly string[]) => (subjects.length === 0 ? { deny: ['>'] } : { allow: [...subjects] })

/** The library dates claims by this machine's clock; servers compare that date with revocations and with older claims. */
const dated = async (encoded: Promise<string>, signer: KeyPair, at: Date): Promise<string> => {
  const [header = '', payload = ''] = (await encoded).split('.')
  const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString())
  const body = JSON.stringify({ ...(claims as object), iat: unixSeconds(at), jti: randomUUID() })
  const signed = `${header}.${Buffer.from(body).toString('base64url')}`
  return `${signed}.${Buffer.from(signer.sign(Buffer.from(signed))).toString('base64url')}`
}

/** BusMint by the libraries of NATS: its own kind of JWT, signed with Ed25519 keys. */
export const makeNatsMint = (clock: Clock): BusMint => ({
  newKey,
  operatorClaims: (operator, systemAccount) => {
    const signer = pairOf(operator)
    return dated(encodeOperator('moorage', signer, { system_account: systemAccount }), signer, clock.now())
  },
  accountClaims: (operator, publicKey, platform, claims) => {
    const signer = pairOf(operator)
    return dated(encodeAccount(claims.name, publicKey, accountOf(platform, claims), { signer }), signer, clock.now())
  },
  userClaims: (account, user, { name, rights, expiresAt, isBearer }) => {
    const signer = pairOf(account)
    const permissions = { pub: permission(rights.publish), sub: permission(rights.subscribe), bearer_token: isBearer }
    // The last second belongs to them no more: they never outlive what they were issued on.
    const claims = encodeUser(name, user, signer, permissions, expiresAt === undefined ? {} : { exp: unixSeconds(expiresAt) })
    return dated(claims, signer, clock.now())
  },
  credentialsFile: (claims, user) => secret(fmtCreds(claims, pairOf(user))),
})
