import type { Call } from '../../core/kernel/principal.ts'
import type { Access } from '../../plugins/kit/access.ts'
import { nothingSent } from './authenticate.ts'
import type { BinderDeps } from './binder-deps.ts'
import type { Refusal } from './failure-response.ts'

/** Tells the audit log of a refusal: each 403, each 401 but where no credential was sent, and whatever says what it was about. */
export const recordRefusal = (deps: Pick<BinderDeps, 'denials'>, call: Call, access: Access, refused: Refusal): void => {
  if (refused === nothingSent) return
  if (refused.status !== 403 && refused.status !== 401 && refused.about === undefined) return
  const objectType = access.kind === 'granted' ? access.object.type : ''
  // Not awaited: the answer does not depend on it, and the port never throws.
  void deps.denials.recordDenial(call, { objectType, ...refused.about, code: refused.code })
}
