import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Allowances } from '../identity/attempt-ports.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { Asked, AuthorizationDeps, DecideFailure, ShownAuthorization } from './authorizations.ts'
import { acceptedBy, askedOf, recordAnswer, shownAuthorization } from './authorizations.ts'
import { AuthorizationMissing, TooManyUserCodes } from './failures.ts'
import type { PendingDevice } from './ports.ts'

/** What a program on another device asks, and where it asks from. */
export interface ShownDevice extends ShownAuthorization {
  readonly device: PendingDevice
}

export interface DeviceDeps extends AuthorizationDeps {
  readonly allowances: Allowances
}

const missing = (): Failure<'AuthorizationMissing'> =>
  AuthorizationMissing('There is no such code, or it is over. Codes are valid for ten minutes, and for one answer.')

type FindFailure = Failure<'AuthorizationMissing'> | Failure<'TooManyUserCodes'>

interface AskedDevice {
  readonly device: PendingDevice
  readonly asked: Asked
}

/** Finds what waits by a code. Each look counts, so that codes cannot be guessed. */
const find = async (
  deps: DeviceDeps,
  call: SignedInCall<never>,
  userCode: string,
): Outcome<FindFailure, AskedDevice> => {
  const retryAfterSeconds = await deps.allowances.take('user-code', String(call.principal.userId))
  if (retryAfterSeconds !== undefined)
    return left(TooManyUserCodes('Too many codes were entered; wait and try again.', { retryAfterSeconds }))
  const device = await deps.protocol.pendingDevice(userCode)
  const asked = await askedOf(deps, device)
  if (isLeft(asked) || device === undefined) return left(missing())
  return right({ device, asked: asked.right })
}

/** Returns which program waits for the code that a person typed. */
export const makeShowDevice =
  (deps: DeviceDeps) =>
  async (call: SignedInCall<never>, userCode: string): Outcome<FindFailure, ShownDevice> => {
    const found = await find(deps, call, userCode)
    if (isLeft(found)) return found
    const { asked, device } = found.right
    return right({ ...(await shownAuthorization(deps, call, asked)), needsConsent: true, device })
  }

/** Answers a program on another device for the caller. */
export const makeAnswerDevice =
  (deps: DeviceDeps) =>
  async (
    call: SignedInCall<never>,
    { userCode, isAccepted }: { readonly userCode: string; readonly isAccepted: boolean },
  ): Outcome<FindFailure | DecideFailure, void> => {
    const found = await find(deps, call, userCode)
    if (isLeft(found)) return found
    const { asked } = found.right
    const accepted = await acceptedBy(deps, call, asked)
    if (isLeft(accepted)) return accepted
    await recordAnswer(deps, call, asked, isAccepted)
    const isDone = isAccepted
      ? await deps.protocol.acceptDevice(userCode, accepted.right)
      : await deps.protocol.refuseDevice(userCode)
    return isDone ? right(undefined) : left(missing())
  }
