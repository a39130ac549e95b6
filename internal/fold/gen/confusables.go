//go:build ignore

package main

// confusables maps an ASCII text to the characters that can be taken for it.
//
// Origin: the single-character mappings to ASCII of confusables.txt 13.0.0 of UTS
// #39 (Unicode Security Mechanisms), with these changes. Combining marks, Han and
// kana, and mappings to digits and brackets are left out: names and prose hold
// them in earnest. Targets are lower case; what UTS #39 sends to its prototype l
// because it looks like a capital I goes to i. Added by us: the small capitals,
// small letters that differ from small capitals in nothing (к, м, н, т), Greek and
// Cyrillic letters that serve in homograph attacks in spite of a visible
// difference (ε, ω, τ, χ, п), dotless j, and the dots and dashes of other scripts.
var confusables = map[string]string{
	// Letters.
	"a": "ΑАᎪᗅꓮ𖽀𐊠" + "⍺ɑαа" + "ᴀꭺ",
	"b": "ꞴΒВᏴᗷꓐ𐊂𐊡𐌁" + "ƄЬᏏᑲᖯ" + "ʙвᛒꮟь",
	"c": "🝌𑣲𑣩ⲤСᏟꓚ𐊢𐌂𐐕𐔜" + "ᴄⲥсꮯ𐐽" + "ϹϽϲ",
	"d": "Ꭰᗞᗪꓓ" + "ԁᏧᑯꓒ" + "ᴅꭰꮷԀ",
	"e": "⋿ΕЕⴹᎬꓰ𑢦𑢮𐊆" + "℮ꬲеҽ" + "ᴇꭼεҼ",
	"f": "𝈓ꞘϜᖴꓝ𑣂𑢢𐊇𐊥𐔥" + "ꬵꞙẝք" + "ꜰϝ",
	"g": "ԌᏀᏳꓖ" + "ɡᶃƍց" + "ɢԍꮐᏻ",
	"h": "ΗⲎНᎻᕼꓧ𐋏" + "һհᏂ" + "ʜнꮋⲏҺꮒ",
	"i": "ΙⲒІ" + "⍳ıɪɩιіꙇꭵᎥ𑣃" + "ⲓ",
	"j": "ꞲͿЈᎫᒍꓙ" + "ϳј" + "ᴊȷꭻ",
	"k": "ΚⲔКᏦᛕꓗ𐔘" + "ᴋĸκкⲕꮶ",
	"l": "𝈪ⳐᏞᒪꓡ𖼖𑢣𑢲𐐛𐔦" + "׀∣⏽١۱𐌠𞣇ƖǀӀӏוןاߊⵏᛁꓲ𖼨𐊊𐌉" + "ʟⳑꮮ",
	"m": "ΜϺⲘМᎷᗰᛖꓟ𐊰𐌑" + "𑣣𑜀" + "ᴍмꮇⲙ",
	"n": "ΝⲚꓠ𐔓" + "ոռ" + "ɴηпⲛ",
	"o": "߀০୦𑓐𑣠ΟⲞОՕⵔዐଠ𐓂ꓳ𑢵𐊒𐊫𐐄𐔖" +
		"०੦૦௦౦೦൦๐໐၀٥۵ᴏᴑꬽοσⲟоჿօסهھہەഠဝ𐓪𑣈𑣗𐐬" + "Ჿ",
	"p": "ΡⲢРᏢᑭꓑ𐊕" + "⍴ρⲣр" + "ᴘꮲ",
	"q": "ⵕ" + "ԛգզ" + "Ԛꞯ",
	"r": "𝈖ƦᎡᏒ𐒴ᖇꓣ𖼵" + "ꭇꭈᴦⲅгꮁ" + "ʀꭱꮢ",
	"s": "ЅՏᏕᏚꓢ𖼺𐊖𐐠" + "ꜱƽѕꮪ𑣁𐑈" + "ꮥ",
	"t": "⊤⟙🝨ΤⲦТᎢꓔ𖼊𑢼𐊗𐊱𐌕" + "ᴛтτꭲⲧ",
	"u": "∪⋃Սሀ𐓎ᑌꓴ𖽂𑢸" + "ꞟᴜꭎꭒʋυս𐓶𑣘",
	"v": "𝈍٧۷ѴⴸᏙᐯꛟꓦ𖼈𑢠𐔝" + "∨⋁ᴠνѵט𑜆ꮩ𑣀",
	"w": "𑣯𑣦ԜᎳᏔꓪ" + "ɯᴡѡԝա𑜊𑜎𑜏ꮃ" + "ωѠꮤ",
	"x": "᙭╳𐌢𑣬ꞳΧⲬХⵝᚷꓫ𐊐𐊴𐌗𐔧" + "᙮⤫⤬⨯хᕁᕽ" + "χⲭ",
	"y": "ΥⲨУҮᎩᎽꓬ𖽃𑢤𐊲" + "ɣᶌʏỿꭚγуүყ𑣜" + "ⲩᲧꭹꮍ",
	"z": "𐋵𑣥ΖᏃꓜ𑢩" + "ᴢꮓ𑣄" + "ⲌꙀ",

	// Punctuation. A dot is also what reads as a full stop or stands in its place.
	".":  "𝅭܁܂꘎𐩐٠۰ꓸ" + "۔·‧•∙⋅⸱⸳ꞏ・。᛫",
	"-":  "‐‒–—―⁃˗−➖Ⲻ" + "⸺⸻᠆᐀ⲻ־",
	"_":  "ߺˍ",
	":":  "։܃܄᛬᠃᠉⁚׃˸꞉∶ːꓽ",
	"/":  "᜵⁁∕⁄╱⟋⧸𝈺㇓〳Ⳇⳇ",
	"\\": "∖⟍⧵⧹𝈏𝈻㇔╲",
	"~":  "⁓∼",
	"'":  "՝‘’‛′‵՚׳ʹˈˊˋ˴ʻʽʼʾꞌ",
	"\"": "“”‟״ʺ˶ˮ",
}
