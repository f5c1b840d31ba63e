import { isLeft } from 'fp-ts/lib/Either.js'
import { compileSchema } from '../../core/authz/schema.ts'
import type { AuthorizationSchema } from '../../core/authz/schema.ts'
import type { Catalogue } from '../../core/authz/types.ts'
import { catalogueOf } from '../../composition/runtime/assemble.ts'
import { ownPlugins } from '../support/declared-routes.ts'

/** What the plugins of this build contribute, as the service compiles it. */
export const catalogue: Catalogue = catalogueOf(ownPlugins, {
  type: 'VendorHosted',
  billingEnabled: true,
  runMode: 'development',
})

export const compiled = (from: Catalogue): AuthorizationSchema => {
  const schema = compileSchema(from)
  if (isLeft(schema)) throw new Error(schema.left.join('\n'))
  return schema.right
}

export const schema: AuthorizationSchema = compiled(catalogue)
