import { right } from 'fp-ts/lib/Either.js'
import type { PageSizes } from '../../core/identity/page-size-ports.ts'
import { defaultPageSizes, makeChangePageSizes } from '../../core/identity/page-sizes.ts'
import { presentFields } from '../../core/identity/profile-rules.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle, handleChange } from '../kit/route.ts'
import type { IdentityGiven } from './needs.ts'
import { changePageSizes, getPageSizes } from './page-size.routes.ts'

const pageSizesWire = ({ productUi, consoleUi, platformUi }: PageSizes) => ({ productUI: productUi, consoleUI: consoleUi, platformUI: platformUi })

export const pageSizeRoutes = (given: IdentityGiven): readonly BoundRoute[] => {
  const change = makeChangePageSizes(given)
  return [
    handle(getPageSizes, async ({ call }) => right(pageSizesWire((await given.stores.pageSizes.find(call.principal.userId)) ?? defaultPageSizes))),
    handleChange(changePageSizes, pageSizesWire, ({ call, body }) =>
      change(call, presentFields({ productUi: body.productUI, consoleUi: body.consoleUI, platformUi: body.platformUI })),
    ),
  ]
}
