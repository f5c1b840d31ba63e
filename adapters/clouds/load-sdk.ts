import { left, right } from 'fp-ts/lib/Either.js'
import { CloudSdkMissing } from '../../core/clouds/ports.ts'
import type { Failure, Outcome } from '../../core/kernel/failure.ts'

/** Loads a vendor's package when it is first needed; Node keeps what was loaded. */
export const loadSdk = async <M>(name: string, load: () => Promise<M>): Outcome<Failure<'CloudSdkMissing'>, M> => {
  try {
    return right(await load())
  } catch (error) {
    const { code, message } = error as { readonly code?: unknown; readonly message?: unknown }
    // Another package that the vendor's one misses is a fault, not a choice of the operator.
    if (code !== 'ERR_MODULE_NOT_FOUND' || !String(message).includes(`'${name}'`)) throw error
    return left(CloudSdkMissing(`This installation cannot list buckets of that cloud yet: its operator must run \`npm install ${name}\`.`))
  }
}
