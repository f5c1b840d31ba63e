import { marketplaceHooksPlugin } from '../../../plugins/marketplace/plugin.ts'
import { definePart } from '../../part/part.ts'

/** Notifications, on a listener of their own. The ports are those of the marketplace. */
export const part = definePart({ plugin: marketplaceHooksPlugin })
