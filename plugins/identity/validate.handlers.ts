import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { Verdict } from '../../core/identity/validate-names.ts'
import { makeValidateEmail, makeValidateName } from '../../core/identity/validate-names.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle } from '../kit/route.ts'
import type { IdentityGiven } from './needs.ts'
import { validateEmail, validateOrgname, validateUsername } from './validate.routes.ts'

const wire = ({ status, message }: Verdict) => right({ Status: status, message })

export const validateRoutes = (given: IdentityGiven): readonly BoundRoute[] => {
  const name = makeValidateName(given.stores)
  const email = makeValidateEmail(given)
  return [
    handle(validateUsername, async ({ query }) => wire(await name(query.user_name ?? ''))),
    handle(validateOrgname, async ({ query }) => wire(await name(query.user_name ?? '', query.org))),
    handle(validateEmail, async ({ call, query }) => {
      const verdict = await email(call, query.email ?? '')
      return isLeft(verdict) ? verdict : wire(verdict.right)
    }),
  ]
}
