package throughput

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
)

// ItemSize is the size in bytes that DynamoDB counts for an item in its JSON
// form: names and text in UTF-8, a number about a byte for two digits, binary
// data decoded, a list or map three bytes and one for each element. What is not
// an item counts 0.
func ItemSize(item json.RawMessage) Milli {
	if len(item) == 0 {
		return 0
	}
	decoder := json.NewDecoder(bytes.NewReader(item))
	decoder.UseNumber()
	var attributes map[string]any
	if decoder.Decode(&attributes) != nil {
		return 0
	}
	return attributesSize(attributes)
}

func attributesSize(attributes map[string]any) (size Milli) {
	for name, value := range attributes {
		size += Milli(len(name)) + valueSize(value)
	}
	return size
}

func valueSize(value any) (size Milli) {
	typed, _ := value.(map[string]any)
	for kind, v := range typed {
		switch v := v.(type) {
		case string:
			size += scalarSize(kind, v)
		case []any:
			size += listSize(kind, v)
		case map[string]any:
			size += 3 + Milli(len(v)) + attributesSize(v)
		default:
			size++ // BOOL, NULL
		}
	}
	return size
}

func listSize(kind string, list []any) (size Milli) {
	if kind == "L" {
		size = 3 + Milli(len(list))
	}
	for _, element := range list {
		if text, ok := element.(string); ok {
			size += scalarSize(kind[:1], text)
		} else {
			size += valueSize(element)
		}
	}
	return size
}

func scalarSize(kind, text string) Milli {
	switch kind {
	case "N":
		digits := strings.Trim(strings.TrimLeft(text, "-+"), "0.")
		return Milli(len(digits)+1)/2 + 1
	case "B":
		return Milli(base64.StdEncoding.DecodedLen(len(text)) - strings.Count(text, "="))
	default:
		return Milli(len(text))
	}
}
