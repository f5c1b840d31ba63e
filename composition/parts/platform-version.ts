import { platformVersionPlugin } from '../../plugins/platform/plugin.ts'
import { definePart } from '../part/part.ts'

/** The version, on the listener of notifications. */
export const part = definePart({ plugin: platformVersionPlugin })
