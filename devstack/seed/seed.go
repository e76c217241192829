// Package seed makes the demo's input: real records as objects of newline-delimited
// JSON, the same each time. They are flights in the United States in early 2001
// (Bureau of Transportation Statistics) and the daily weather of Seattle and New
// York 2012–2015 (NOAA), as the npm package vega-datasets (BSD-3-Clause) ships
// them; its datapackage.json tells each data set's own licence and source.
package seed

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// An Object is one object of the input.
type Object struct {
	Key     string
	Body    []byte
	Records int
}

// A flight is one record of flights-*.json.
type flight struct {
	Date        string `json:"date"` // 2001/01/01 00:47
	Delay       int    `json:"delay"`
	Distance    int    `json:"distance"`
	Origin      string `json:"origin"`
	Destination string `json:"destination"`
}

// A day is one record of weather.csv.
type day struct {
	Location      string  `json:"location"`
	Date          string  `json:"date"`
	Precipitation float64 `json:"precipitation"`
	TempMax       float64 `json:"temp_max"`
	TempMin       float64 `json:"temp_min"`
	Wind          float64 `json:"wind"`
	Weather       string  `json:"weather"`
}

// Objects reads the data sets below a node_modules directory: flights by week
// ("flights/2001-W01.ndjson") and weather by place and year
// ("weather/seattle/2012.ndjson"). flights is the size of the set: 20k or 200k.
func Objects(modules, flights string) ([]Object, error) {
	data := filepath.Join(modules, "vega-datasets", "data")
	lines := map[string]*object{}
	if err := addFlights(lines, filepath.Join(data, "flights-"+flights+".json")); err != nil {
		return nil, fmt.Errorf("flights: %w", err)
	}
	if err := addWeather(lines, filepath.Join(data, "weather.csv")); err != nil {
		return nil, fmt.Errorf("weather: %w", err)
	}
	objects := make([]Object, 0, len(lines))
	for _, key := range slices.Sorted(maps.Keys(lines)) {
		objects = append(objects, Object{key, lines[key].body.Bytes(), lines[key].records})
	}
	return objects, nil
}

type object struct {
	body    bytes.Buffer
	records int
}

// add appends a record to the object of a key.
func add(to map[string]*object, key string, record any) error {
	if to[key] == nil {
		to[key] = &object{}
	}
	to[key].records++
	return json.NewEncoder(&to[key].body).Encode(record)
}

func addFlights(to map[string]*object, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var flights []flight
	if err := json.Unmarshal(text, &flights); err != nil {
		return err
	}
	for _, f := range flights {
		at, err := time.Parse("2006/01/02 15:04", f.Date)
		if err != nil {
			return err
		}
		year, week := at.ISOWeek()
		if err := add(to, fmt.Sprintf("flights/%d-W%02d.ndjson", year, week), f); err != nil {
			return err
		}
	}
	return nil
}

func addWeather(to map[string]*object, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return err
	}
	for _, row := range rows[1:] {
		d, err := dayOf(row)
		if err != nil {
			return err
		}
		place := strings.ReplaceAll(strings.ToLower(d.Location), " ", "-")
		if err := add(to, fmt.Sprintf("weather/%s/%s.ndjson", place, d.Date[:4]), d); err != nil {
			return err
		}
	}
	return nil
}

// dayOf reads location,date,precipitation,temp_max,temp_min,wind,weather.
func dayOf(row []string) (day, error) {
	d := day{Location: row[0], Date: row[1], Weather: row[6]}
	var errs []error
	for i, to := range []*float64{&d.Precipitation, &d.TempMax, &d.TempMin, &d.Wind} {
		var err error
		*to, err = strconv.ParseFloat(row[2+i], 64)
		errs = append(errs, err)
	}
	return d, errors.Join(errs...)
}

// Put writes the objects under a prefix.
func Put(ctx context.Context, client *s3.Client, bucket, prefix string, objects []Object) error {
	for _, o := range objects {
		_, err := client.PutObject(ctx, &s3.PutObjectInput{Bucket: &bucket, Key: aws.String(prefix + o.Key), Body: bytes.NewReader(o.Body),
			ContentType: aws.String("application/x-ndjson")})
		if err != nil {
			return fmt.Errorf("%s/%s%s: %w", bucket, prefix, o.Key, err)
		}
	}
	return nil
}
