import { randomUUID } from 'node:crypto'
import {
  createAccount,
  createOperator,
  createUser,
  encodeAccount,
  encodeOperator,
  encodeUser,
  fmtCreds,
  fromSeed,
} from '@nats-io/jwt'
import type { KeyPair } from '@nats-io/jwt'
import type { BusKey, BusMint } from '../../core/bus/ports.ts'
import type { AccountClaims, BusIdentityKind } from '../../core/bus/types.ts'
import type { Clock } from '../../core/kernel/clock.ts'
import { unixSeconds } from '../../core/kernel/clock.ts'
import { definedFields, toWireJson } from '../../core/kernel/json.ts'
import { secret } from '../../core/kernel/secret.ts'

const makers = {
  operator: createOperator,
  system: createAccount,
  platform: createAccount,
  account: createAccount,
  user: createUser,
} as const

const newKey = (kind: BusIdentityKind | 'user'): BusKey => {
  const pair = makers[kind]()
  return { publicKey: pair.getPublicKey(), seed: secret(new TextDecoder().decode(pair.getSeed())) }
}

const pairOf = ({ seed }: BusKey) => fromSeed(new TextEncoder().encode(seed.reveal()))
/** A revocation covers the whole second that contains it. */
const secondAfter = (at: Date): number => Math.ceil(at.getTime() / 1000)

/** The server reads an omitted limit as zero, so every limit is written out; -1 means unlimited. */
const limitsOf = ({ maxConnections, hasStreams, imports, exports, sends, receives }: AccountClaims) => ({
  subs: -1,
  data: -1,
  payload: -1,
  imports: hasStreams || imports.length + sends.length > 0 ? -1 : 0,
  exports: exports.length + receives.length > 0 ? -1 : 0,
  wildcards: true,
  conn: maxConnections ?? -1,
  leaf: maxConnections === undefined ? -1 : 0,
  disallow_bearer: false,
  ...(hasStreams ? { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 } : {}),
})

const accountOf = (platform: string, claims: AccountClaims) => ({
  imports: [
    ...claims.imports.map(({ from, as }) => ({
      name: as,
      type: 'stream' as const,
      account: platform,
      subject: from,
      local_subject: as,
    })),
    ...claims.sends.map(({ on, to }) => ({
      name: on,
      type: 'service' as const,
      account: platform,
      subject: to,
      local_subject: on,
    })),
  ],
  exports: [
    ...claims.exports.map((subject) => ({ name: subject, type: 'stream' as const, subject })),
    ...claims.receives.map((subject) => ({
      name: subject,
      type: 'service' as const,
      subject,
      response_type: 'Singleton' as const,
    })),
  ],
  limits: limitsOf(claims),
  revocations: Object.fromEntries([...claims.revocations].map(([key, until]) => [key, secondAfter(until)])),
})

/** An empty list must allow no subject. By itself an empty list would allow all of them. */
const permission = (subjects: readonly string[]) => (subjects.length === 0 ? { deny: ['>'] } : { allow: [...subjects] })

/**
 * Replaces the date of claims by `at` and signs them again. The library dates claims by this machine's clock, and
 * servers compare the date with revocations and with older claims.
 */
const dated = async (encoded: Promise<string>, signer: KeyPair, at: Date): Promise<string> => {
  const [header = '', payload = ''] = (await encoded).split('.')
  const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString())
  const body = toWireJson({ ...(claims as object), iat: unixSeconds(at), jti: randomUUID() })
  const signed = `${header}.${Buffer.from(body).toString('base64url')}`
  return `${signed}.${Buffer.from(signer.sign(Buffer.from(signed))).toString('base64url')}`
}

/** BusMint over the NATS libraries: NATS JWTs signed with Ed25519 keys. */
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
    // Rounded down to the second, so that claims never outlive the right they were issued for.
    const claims = encodeUser(
      name,
      user,
      signer,
      permissions,
      definedFields({ exp: expiresAt === undefined ? undefined : unixSeconds(expiresAt) }),
    )
    return dated(claims, signer, clock.now())
  },
  credentialsFile: (claims, user) => secret(fmtCreds(claims, pairOf(user))),
})
