import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure } from '../kernel/failure.ts'
import { ReleaseOptionsRefused } from './release-task-ports.ts'
import type { ReleaseKey } from './types.ts'

const namePattern = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/
const labelPattern = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/** Names that Helm and Kubernetes would take. The failure names the field of the request. */
export const checkReleaseKey = ({ name, namespace }: ReleaseKey): Either<Failure<'ReleaseOptionsRefused'>, void> => {
  if (name.length > 53 || !namePattern.test(name)) {
    return left(ReleaseOptionsRefused("releaseName: must be at most 53 characters of a-z, 0-9, '-' and '.', a letter or digit first and last in each part."))
  }
  if (!labelPattern.test(namespace)) {
    return left(ReleaseOptionsRefused("namespace: must be at most 63 characters of a-z, 0-9 and '-', a letter or digit first and last."))
  }
  return right(undefined)
}
