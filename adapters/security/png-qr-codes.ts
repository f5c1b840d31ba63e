import { toDataURL } from 'qrcode'
import type { QrCodes } from '../../core/identity/second-factor/ports.ts'

const pixelsPerModule = 6

/** QR codes by the library `qrcode`, drawn in this process: the text never leaves it. */
export const pngQrCodes: QrCodes = {
  dataUrl: (text) => toDataURL(text.reveal(), { type: 'image/png', errorCorrectionLevel: 'M', scale: pixelsPerModule }),
}
