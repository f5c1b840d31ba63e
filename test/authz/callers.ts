import type { TokenId, UserId } from '../../core/kernel/ids.ts'
import type { Principal, SignedInCall } from '../../core/kernel/principal.ts'
import { fullScope } from '../../core/kernel/principal.ts'
import { nameOf } from './account-names.ts'

/** A caller with a token that reaches everything, unless told otherwise. */
export const principal = (userId: number, changes: Partial<Principal> = {}): Principal => ({
  userId: userId as UserId,
  login: nameOf(userId),
  isSiteAdmin: false,
  method: 'token',
  tokenId: 1 as TokenId,
  scopes: fullScope,
  ...changes,
})

export const callBy = (caller: Principal, operation = 'test.operation'): SignedInCall => ({
  principal: caller,
  requestId: 'request-1',
  sourceIp: '192.0.2.1',
  operation,
  signal: new AbortController().signal,
})
