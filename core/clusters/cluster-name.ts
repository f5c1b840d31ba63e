import { left, right, type Either } from 'fp-ts/lib/Either.js'
import { defineFailure, type Failure } from '../kernel/failure.ts'

/** The name cannot be a cluster's name. */
export const ClusterNameInvalid = defineFailure('ClusterNameInvalid', 'Unprocessable')

/** Words that stand where a cluster's name would stand in a path. */
const reservedClusterNames: ReadonlySet<string> = new Set([
  'all-clusters',
  'check',
  'has-hub',
  'hub-info',
  'hubs',
  'import',
  'validate',
  'vcluster',
])

const dnsLabel = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/** A DNS-1123 label of at most 63 characters that is no word of the interface. */
export const checkClusterName = (name: string): Either<Failure<'ClusterNameInvalid'>, string> => {
  if (!dnsLabel.test(name))
    return left(
      ClusterNameInvalid(
        'The cluster name must be 1 to 63 lower-case letters, digits and hyphens, beginning and ending with a letter or digit.',
      ),
    )
  if (reservedClusterNames.has(name)) return left(ClusterNameInvalid(`The cluster name ${name} is reserved.`))
  return right(name)
}
