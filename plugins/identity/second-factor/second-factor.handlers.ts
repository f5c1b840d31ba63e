import { isLeft, right } from 'fp-ts/lib/Either.js'
import type * as t from 'io-ts'
import type { Secret } from '../../../core/kernel/secret.ts'
import { secret } from '../../../core/kernel/secret.ts'
import {
  makeDisableSecondFactor,
  makeEnrollSecondFactor,
  makeOfferSecondFactor,
  makeReplaceRecoveryCodes,
} from '../../../core/identity/second-factor/enrollment.ts'
import type { Proof } from '../../../core/identity/authentication/credentials.ts'
import { makeResetSecondFactor } from '../../../core/identity/second-factor/reset.ts'
import { isEnrolled } from '../../../core/identity/second-factor/codes.ts'
import type { BoundRoute } from '../../kit/route.ts'
import { handle, handleChange } from '../../kit/route.ts'
import type { SecondFactorProof } from '../codecs.ts'
import type { IdentityGiven } from '../needs.ts'
import {
  adminResetSecondFactor, disableSecondFactor, enrollSecondFactor, offerSecondFactor, replaceRecoveryCodes, showSecurity,
} from './second-factor.routes.ts'

const linesOf = (codes: readonly Secret[]): string => codes.map((code) => code.reveal()).join('\n')

const proofOf = ({ password, passCode }: t.TypeOf<typeof SecondFactorProof>): Proof => ({
  password: password === undefined ? undefined : secret(password),
  passCode,
})

export const secondFactorRoutes = (given: IdentityGiven): readonly BoundRoute[] => {
  const { stores, qrCodes } = given
  const offer = makeOfferSecondFactor(given)
  const enroll = makeEnrollSecondFactor(given)
  const replaceCodes = makeReplaceRecoveryCodes(given)
  const disable = makeDisableSecondFactor(given)
  const reset = makeResetSecondFactor(given)
  return [
    handle(showSecurity, async ({ call }) =>
      right({ twoFAEnrolled: isEnrolled(await stores.secondFactors.find(call.principal.userId)) }),
    ),
    handle(offerSecondFactor, async ({ call }) => {
      const offered = await offer(call)
      if (isLeft(offered)) return offered
      const { seed, uri } = offered.right
      return right({ twoFASecret: seed.reveal(), twoFAImageURL: await qrCodes.dataUrl(uri) })
    }),
    handleChange(enrollSecondFactor, linesOf, ({ call, body }) => enroll(call, body.passCode)),
    handleChange(replaceRecoveryCodes, linesOf, ({ call, body }) => replaceCodes(call, proofOf(body))),
    handle(disableSecondFactor, ({ call, body }) => disable(call, proofOf(body))),
    handle(adminResetSecondFactor, ({ call, params }) => reset(call, params.username)),
  ]
}
